package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/tool"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// The tools of the runtime itself. They stand beside those of the session, and
// need no permission of it: they reach nothing in the workspace.
const (
	toolFinish   = "finish"
	toolSendMail = "send_mail"
)

var (
	offerFinish = ToolOffer{toolFinish, "End the task. The result is what whoever asked for it gets to read.",
		jsontext.Value(`{"type":"object","properties":{"result":{"type":"string"}},"required":["result"],"additionalProperties":false}`)}
	offerSendMail = ToolOffer{toolSendMail, "Write to a team mate, or answer an outside assistant that wrote to this session.",
		jsontext.Value(`{"type":"object","properties":{"to":{"type":"string","description":"Slug of a team mate or of an outside sender"},` +
			`"subject":{"type":"string","maxLength":200},"body":{"type":"string","maxLength":10000},` +
			`"reply_to":{"type":"string","description":"ID of the mail that this answers"}},"required":["to","subject","body"],"additionalProperties":false}`)}
)

// finish is what the agent says when it ends the task.
type finish struct {
	Result string `json:"result"`
}

// offers are the tools of the round: the session's, as they were approved and
// still are, and those of the runtime.
func (a *attempt) offers() ([]ToolOffer, error) {
	var offers []ToolOffer
	if a.course.tools(a.round.Number, a.last) {
		of, err := a.Gate.OfferAgent(a.tools())
		if err != nil {
			return nil, err
		}
		for _, o := range of {
			offers = append(offers, ToolOffer{o.Name, o.Description, o.Parameters})
		}
		if a.correspondents() {
			offers = append(offers, offerSendMail)
		}
	}
	if a.course.finish(a) {
		offers = append(offers, offerFinish)
	}
	return offers, nil
}

// tools are the names of the agent's tools that it had when the task was queued
// and has still.
func (a *attempt) tools() []string {
	now := a.session.Agent(a.agent.Slug).Tools
	return slices.DeleteFunc(slices.Clone(a.agent.Tools), func(name string) bool { return !slices.Contains(now, name) })
}

// correspondents reports whether there is anybody to write to.
func (a *attempt) correspondents() bool {
	return a.task.Type == workspace.SessionTeam && len(a.task.Agents) > 1 ||
		slices.ContainsFunc(a.mail, func(m workspace.Mail) bool { return m.FromKind == workspace.FromConnection })
}

func names(offers []ToolOffer) map[string]bool {
	set := map[string]bool{}
	for _, o := range offers {
		set[o.Name] = true
	}
	return set
}

// callTools makes the calls of the turn, one after the other. What was refused is
// told to the agent in its next turn and ends nothing.
func (a *attempt) callTools(ctx context.Context) error {
	for i := range a.turn.Calls {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		result, err := a.call(ctx, i)
		if ctx.Err() != nil { // whatever the tool made of it
			return context.Cause(ctx)
		}
		if access.CodeOf(err) == access.Unavailable {
			return err
		}
		call := &a.turn.Calls[i]
		call.Result, call.Failed, call.Code = string(result), false, ""
		if err != nil {
			call.Result, call.Failed, call.Code = refusal(call.Name, err)
		}
	}
	return nil
}

// refusal is what the agent is told about a call that was refused.
func refusal(name string, err error) (text string, failed bool, code string) {
	if errors.Is(err, tool.ErrUnknown) {
		err = access.Refuse(access.Forbidden, "There is no tool %q here.", name)
	}
	refused, ok := errors.AsType[*access.Error](err)
	if !ok {
		refused = access.Refuse(access.Internal, "The call failed and nothing was changed.")
	}
	return refused.Message, true, string(refused.Code)
}

// call makes the i-th call. A tool of the session that this round was not offered
// is refused here; one that the agent does not have is refused by the gate, where
// the attempt is audited.
func (a *attempt) call(ctx context.Context, i int) ([]byte, error) {
	c := a.turn.Calls[i]
	switch {
	case c.Name == toolFinish && a.offered[toolFinish]:
		return a.finishTask(c)
	case c.Name == toolSendMail && a.offered[toolSendMail]:
		return a.sendMail(ctx, i)
	case !a.offered[c.Name] && slices.Contains(a.tools(), c.Name):
		return nil, access.Refuse(access.Forbidden, "The tool %s is not offered in this round.", c.Name)
	}
	local, err := a.local(ctx)
	if err != nil {
		return nil, err
	}
	return a.Gate.CallAgent(ctx, tool.AgentCall{Round: a.ref, Number: i + 1, Local: local, Name: c.Name, Arguments: jsontext.Value(c.Arguments)})
}

// local reports whether no agent of the task works elsewhere: what one of them
// reads, the others may be told.
func (a *attempt) local(ctx context.Context) (bool, error) {
	for _, worker := range a.task.Agents {
		local, err := a.Providers.Local(ctx, a.task.WorkspaceID, worker.Provider)
		if err != nil || !local {
			return false, err
		}
	}
	return true, nil
}

func (a *attempt) finishTask(c workspace.ToolCall) ([]byte, error) {
	var f finish
	if err := readArguments(c, &f); err != nil {
		return nil, err
	}
	if a.finished != nil {
		return nil, access.Refuse(access.AlreadyDecided, "The task is finished already.")
	}
	a.finished = &f
	return []byte(`{"finished":true}`), nil
}

// readArguments reads the arguments of a tool of the runtime.
func readArguments(c workspace.ToolCall, into any) error {
	if err := json.Unmarshal([]byte(c.Arguments), into, json.RejectUnknownMembers(true)); err != nil {
		return access.Refuse(access.InvalidArguments, "The arguments of %s do not fit its schema.", c.Name).Because(err)
	}
	return nil
}

// letter is what an agent writes to somebody.
type letter struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
	ReplyTo string `json:"reply_to"`
}

func (l letter) check() error {
	for _, f := range []struct {
		name, text string
		most       int
	}{{"to", l.To, workspace.MaxAgentSlug}, {"subject", l.Subject, workspace.MaxMailSubject}, {"body", l.Body, workspace.MaxMailBody}} {
		if f.text == "" {
			return access.Refuse(access.InvalidArguments, "/%s: is missing.", f.name)
		}
		if n := len([]rune(f.text)); n > f.most {
			return access.Refuse(access.InvalidArguments, "/%s: has %d characters, %d are allowed.", f.name, n, f.most)
		}
	}
	return nil
}

// sendMail takes a letter. It is posted when the round is committed, and so once
// whatever happens before.
func (a *attempt) sendMail(ctx context.Context, i int) ([]byte, error) {
	var l letter
	if err := readArguments(a.turn.Calls[i], &l); err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	m := workspace.Mail{
		WorkspaceID: a.task.WorkspaceID, SessionID: a.task.SessionID, TaskID: a.task.ID,
		FromKind: workspace.FromAgent, FromID: a.agent.Slug, FromName: a.agent.Slug, FromSlug: a.agent.Slug,
		Subject: l.Subject, Body: l.Body,
	}
	if slices.ContainsFunc(a.mail, func(m workspace.Mail) bool { return m.ID == l.ReplyTo }) {
		m.ReplyTo = l.ReplyTo
	}
	if l.To != a.agent.Slug && slices.ContainsFunc(a.task.Agents, func(x workspace.Agent) bool { return x.Slug == l.To }) {
		m.ToAgent, m.Internal = l.To, true
	} else if err := a.addressOutside(ctx, &m, l.To, i); err != nil {
		return nil, err
	}
	a.sent = append(a.sent, m)
	return []byte(`{"sent":true}`), nil
}

// addressOutside addresses mail to a connection. Where the task does not act for
// that connection it may have read what the connection must not, and an agent that
// does what it reads would tell: then nothing is sent.
func (a *attempt) addressOutside(ctx context.Context, m *workspace.Mail, slug string, call int) error {
	return a.Units.Read(ctx, func(tx access.Tx) error {
		id, ok, err := a.Store.MailAddress(ctx, tx, a.task, slug)
		if err != nil {
			return err
		}
		if !ok {
			return access.Refuse(access.NotFound, "There is nobody called %q to write to. %s", slug, a.writeTo())
		}
		if id != a.task.ConnectionID {
			if err := a.mayTell(ctx, tx, id, call); err != nil {
				return err
			}
		}
		m.ToConnection = id
		return nil
	})
}

// mayTell refuses mail to a connection if the task was shown anything, besides its
// goal, that the connection can't read itself.
func (a *attempt) mayTell(ctx context.Context, tx access.Tx, connectionID string, call int) error {
	refused := access.Refuse(access.HumanRequired,
		"This task has read what that outside assistant may not be able to. It can be answered in a task of its own: let it propose a handoff.")
	calls := a.turn.Calls[:call]
	for _, r := range a.earlier {
		calls = append(slices.Clip(calls), r.Calls...)
	}
	if slices.ContainsFunc(calls, func(c workspace.ToolCall) bool {
		return !c.Failed && c.Name != toolFinish && c.Name != toolSendMail
	}) {
		return refused
	}
	for _, agent := range a.task.Agents { // what one was shown it may have told the others
		mail, err := a.Store.MailFor(ctx, tx, a.task, agent.Slug, a.began, maxMail)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(mail, func(m workspace.Mail) bool {
			return !m.Internal && m.ToConnection != connectionID && !(m.FromKind == workspace.FromConnection && m.FromID == connectionID)
		}) {
			return refused
		}
	}
	return nil
}

// writeTo says whom the agent can write to.
func (a *attempt) writeTo() string {
	var slugs []string
	for _, x := range a.task.Agents {
		if x.Slug != a.agent.Slug {
			slugs = append(slugs, x.Slug)
		}
	}
	for _, m := range a.mail {
		if m.FromKind == workspace.FromConnection && !slices.Contains(slugs, m.FromSlug) {
			slugs = append(slugs, m.FromSlug)
		}
	}
	return fmt.Sprintf("You can write to: %s.", strings.Join(slugs, ", "))
}
