// Package rehearsal takes turns without a model, so that a newcomer sees how a task
// runs before there is a key for anything. It makes real calls of the tools that it
// is offered, in the order of a small script, and says in its result that no model
// was involved; what the calls give and whether they are allowed is the gate's, as
// for any agent.
//
// A script has five rounds, or as many as the task has: it lists the project, reads
// a note, searches, reads a text, and sums up. Where a step is not possible, for want
// of a tool or of a note, another is taken, so that the rounds are used; without any
// tool that it knows, it sums up at once. Before the end it says only what is in
// this package, and never what it read.
package rehearsal

import (
	"context"
	"regexp"
	"strings"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// Rounds is how many rounds the script has at most.
const Rounds = 5

// Provider is the rehearsal. There is only one.
type Provider struct{}

var _ agent.Provider = Provider{}

// External reports that a rehearsal has no effect but that of its calls.
func (Provider) External() bool { return false }

// Take takes the next step of the script.
func (Provider) Take(ctx context.Context, t agent.Turn, say func(text string)) (agent.Reply, error) {
	s := scene{turn: t, cues: cuesOf(t.Instructions), seen: see(t.Messages), offered: map[string]bool{}}
	for _, o := range t.Tools {
		s.offered[o.Name] = true
	}
	reply := s.play()
	reply.Model, reply.Rehearsed = "rehearsal", true
	var said strings.Builder
	for piece := range strings.SplitAfterSeq(reply.Text, " ") {
		if err := ctx.Err(); err != nil {
			return agent.Reply{}, err
		}
		if piece == "" {
			continue
		}
		said.WriteString(piece)
		say(piece)
	}
	if err := ctx.Err(); err != nil {
		return agent.Reply{}, err
	}
	return reply, nil
}

// cues are what the instructions tell a rehearsal.
type cues struct {
	project string // its ID
	leader  string // of the team, if it is another agent
	phrase  string // that ends the loop
	say     string // to be said in every round
}

var (
	projectLine = regexp.MustCompile(`(?m)^Project: *(\S+)$`)
	leaderWords = regexp.MustCompile(`(?m)(?:^|\s)(\S+) leads the team`)
	phraseWords = regexp.MustCompile(`(?m)say exactly: *(.+)$`)
	sayWords    = regexp.MustCompile(`(?mi)\bsay: *(.+)$`)
)

func cuesOf(instructions string) cues {
	find := func(r *regexp.Regexp) string {
		if m := r.FindStringSubmatch(instructions); m != nil {
			return strings.TrimSpace(m[1])
		}
		return ""
	}
	return cues{project: find(projectLine), leader: find(leaderWords), phrase: find(phraseWords), say: find(sayWords)}
}
