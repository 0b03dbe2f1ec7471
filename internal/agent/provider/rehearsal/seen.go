package rehearsal

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// seen is what the calls so far gave.
type seen struct {
	rounds    int // of this agent
	project   string
	listed    bool
	resources []thing
	read      map[string][]tab // tabs of the notes that were read
	texts     []string         // titles of what was read in full
	searches  int
	hits      int
	refused   []string // names of tools whose calls were refused
}

// thing is a resource or a hit.
type thing struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Title string `json:"title"`
}

type tab struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// result is what the tools of the script answer, all in one.
type result struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Items   []thing `json:"items"`
	Results []thing `json:"results"`
	Tabs    []tab   `json:"tabs"`
}

// see reads the conversation. What it cannot read, it has not seen.
func see(messages []agent.Message) seen {
	s := seen{read: map[string][]tab{}}
	names := map[string]string{}
	for _, m := range messages {
		switch m.Role {
		case agent.RoleAgent:
			s.rounds++
			for _, c := range m.Calls {
				names[c.ID] = c.Name
			}
		case agent.RoleTool:
			s.result(names[m.CallID], m)
		case agent.RoleUser:
			if p := projectLine.FindStringSubmatch(m.Text); p != nil && s.project == "" {
				s.project = p[1]
			}
		}
	}
	return s
}

func (s *seen) result(name string, m agent.Message) {
	if m.Failed {
		s.refused = append(s.refused, name)
		return
	}
	var envelope struct {
		Data jsontext.Value `json:"data"`
	}
	text := jsontext.Value(m.Text)
	if json.Unmarshal(text, &envelope) == nil && len(envelope.Data) > 0 {
		text = envelope.Data
	}
	var r result
	if json.Unmarshal(text, &r) != nil {
		return
	}
	switch name {
	case listResources:
		s.listed, s.resources = true, r.Items
	case readNote:
		s.read[r.ID] = r.Tabs
	case fetch, readTab:
		s.texts = append(s.texts, r.Title)
	case search:
		s.searches++
		s.hits += len(r.Results)
	}
}

// note is the first note of the project, "" if none was seen.
func (s *seen) note() string {
	for _, r := range s.resources {
		if r.Kind == "note" {
			return r.ID
		}
	}
	return ""
}

// word is what to search for: the first word of some length in a title.
func (s *seen) word() string {
	for _, r := range s.resources {
		for word := range strings.FieldsSeq(r.Title) {
			if len(word) >= 4 && len(word) <= 100 {
				return word
			}
		}
	}
	return "plan"
}
