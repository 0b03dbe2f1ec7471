package tool

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/osfoundry/osfoundry/internal/access"
)

// AgentCall is one tool call of an agent's round.
type AgentCall struct {
	Round     access.RoundRef
	Number    int  // of the call within the round, from 1
	Local     bool // no agent of the task works elsewhere; see access.AgentFacts
	Name      string
	Arguments jsontext.Value // without an idempotency key: the round has one for each number
}

// CallAgent is Call for an agent of ours, through the same steps. The same round
// and number act once, whichever attempt of the round they come from.
func (c *Catalogue) CallAgent(ctx context.Context, call AgentCall) ([]byte, error) {
	t := c.tools[call.Name]
	if t == nil {
		return nil, ErrUnknown
	}
	arguments, fault := withKey(t, call)
	return c.admit(ctx, &passage{
		catalogue: c, caller: agent{call.Round, call.Local}, started: c.Now(),
		call: Call{Name: call.Name, Arguments: arguments}, fault: fault,
	})
}

// withKey adds the round's key where the tool takes one.
func withKey(t *Tool, call AgentCall) (jsontext.Value, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(call.Arguments, &members); err != nil || members == nil {
		return nil, access.Refuse(access.InvalidArguments, "The arguments are not a JSON object.").Because(err)
	}
	if _, ok := members[keyArgument]; ok {
		return nil, refuseArguments([]problem{{"/" + keyArgument, "additionalProperties", "is not for agents to choose"}})
	}
	if t.schema.Properties[keyArgument] == nil {
		return call.Arguments, nil
	}
	members[keyArgument] = jsontext.Value(fmt.Sprintf(`"round-%d-call-%d"`, call.Round.Number, call.Number))
	return json.Marshal(members, json.Deterministic(true))
}

// keyArgument is the argument of every write that has a key.
const keyArgument = "idempotency_key"

// Offer is a tool as it is offered to an agent.
type Offer struct {
	Name        string
	Description string
	Parameters  jsontext.Value // a JSON Schema
}

// OfferAgent offers those of the named tools that exist and are for agents, in the
// order of the catalogue.
func (c *Catalogue) OfferAgent(names []string) ([]Offer, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var offers []Offer
	for _, t := range c.order {
		if !t.ForAgents || !wanted[t.Name] {
			continue
		}
		parameters, err := t.parametersForAgents()
		if err != nil {
			return nil, fmt.Errorf("offer %s: %w", t.Name, err)
		}
		offers = append(offers, Offer{t.Name, t.Description, parameters})
	}
	return offers, nil
}

// AgentTools are the names of those tools that a session can give to its agents,
// and of those among them that only read.
func AgentTools(tools ...*Tool) (names, reading []string) {
	for _, t := range tools {
		if !t.ForAgents {
			continue
		}
		names = append(names, t.Name)
		if !t.Writes() {
			reading = append(reading, t.Name)
		}
	}
	return names, reading
}

// parametersForAgents is the schema of the arguments without the key.
func (t *Tool) parametersForAgents() (jsontext.Value, error) {
	schema := *t.schema
	schema.Properties = map[string]*jsonschema.Schema{}
	for name, property := range t.schema.Properties {
		if name != keyArgument {
			schema.Properties[name] = property
		}
	}
	schema.PropertyOrder, schema.Required = without(t.schema.PropertyOrder), without(t.schema.Required)
	return schema.MarshalJSON()
}

func without(names []string) []string {
	var kept []string
	for _, name := range names {
		if name != keyArgument {
			kept = append(kept, name)
		}
	}
	return kept
}

// agent is a round of a task.
type agent struct {
	round access.RoundRef
	local bool
}

func (a agent) hold(ctx context.Context, c *Catalogue, tx access.Tx, ref access.Ref, right access.Right) error {
	return c.Source.HoldAgent(ctx, tx, a.round, ref, right)
}

func (a agent) look(ctx context.Context, c *Catalogue, tx access.Tx, ref access.Ref) (sight, error) {
	f, err := c.Source.AgentFacts(ctx, tx, a.round, ref)
	f.Local = a.local
	seen := sight{
		identify: func(time.Time) (access.Principal, error) { return access.IdentifyAgent(f) },
		check: func(t *Tool, _ access.Ref, _ time.Time) (access.Permit, error) {
			if !t.ForAgents { // whatever a session lists
				return access.Permit{}, access.Refuse(access.Forbidden, "The tool %s is not for agents.", t.Name)
			}
			return access.CheckAgent(f, t.Name, t.Needs)
		},
	}
	switch {
	case f.Connection != nil:
		seen.facts = *f.Connection
	case f.Person != nil:
		seen.facts = *f.Person
	}
	return seen, err
}

func (agent) inOneLook() bool { return false } // whoever stands behind the round is looked at too

func (agent) limited() bool { return false } // the runtime bounds calls and rounds

func (a agent) scope(access.Principal) string { return "task " + a.round.TaskID }

func (agent) detail(who access.Principal) map[string]any {
	return map[string]any{"agent": who.Agent, "task_id": who.TaskID}
}
