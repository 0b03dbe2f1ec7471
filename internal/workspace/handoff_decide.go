package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
)

// freshSignIn is how long ago a person may have signed in who accepts work that
// runs a command on this server (security.md TH22).
const freshSignIn = 15 * time.Minute

// ShownHandoff is a handoff with all that a person approves with it. Digest covers
// exactly this; it is "" once the handoff is decided, because what is there now is
// then not what was approved.
type ShownHandoff struct {
	Handoff
	Session   Session
	Providers []Provider // of the session's agents, by name; without the built-in one
	Rounds    int64      // at most so many: what was asked for, within the session's cap
	Digest    string
}

// HandoffDecision is what a person decides.
type HandoffDecision struct {
	Decision string // accept or decline
	Reason   string // for the assistant and for other people; may be empty
	Digest   string // of what the person was shown; "" where the caller does not say
}

// show puts beside handoffs what they ask for.
func (s *Handoffs) show(ctx context.Context, tx access.Tx, p access.Permit, handoffs ...Handoff) ([]ShownHandoff, error) {
	session, err := loadedSession(p)
	if err != nil {
		return nil, err
	}
	providers, err := s.providersOf(ctx, tx, session)
	if err != nil {
		return nil, err
	}
	shown := make([]ShownHandoff, len(handoffs))
	for i, h := range handoffs {
		if shown[i], err = show(h, session, providers); err != nil {
			return nil, err
		}
	}
	return shown, nil
}

func show(h Handoff, session Session, providers []Provider) (ShownHandoff, error) {
	shown := ShownHandoff{Handoff: h, Session: session, Providers: providers, Rounds: min(h.MaxRounds, session.MaxRounds)}
	if h.State != HandoffPending {
		return shown, nil
	}
	var err error
	shown.Digest, err = shown.digest()
	return shown, err
}

// providersOf are the configured providers of the session's agents, in the order of
// their names. One that was deleted is left out.
func (s *Handoffs) providersOf(ctx context.Context, tx access.Tx, session Session) ([]Provider, error) {
	names := map[string]bool{}
	for _, a := range session.Agents {
		names[a.Provider] = a.Provider != RehearsalProvider
	}
	var found []Provider
	for name, configured := range names {
		if !configured {
			continue
		}
		p, ok, err := s.providers.Provider(ctx, tx, session.WorkspaceID, name)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b Provider) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// digest is the SHA-256 of what is shown, as canonical JSON (RFC 8785): with any
// change of it, an approval of something else would be taken for one of this.
func (h ShownHandoff) digest() (string, error) {
	type provider struct {
		Name    string       `json:"name"`
		Kind    ProviderKind `json:"kind"`
		Version int64        `json:"version"` // counts every change of address, command, model and key
	}
	providers := make([]provider, len(h.Providers))
	for i, p := range h.Providers {
		providers[i] = provider{p.Name, p.Kind, p.Version}
	}
	text, err := json.Marshal(map[string]any{
		"handoff":  map[string]any{"id": h.ID, "goal": h.Goal, "context_summary": h.ContextSummary, "requested_output": h.RequestedOutput},
		"proposer": map[string]any{"id": h.ConnectionID, "name": h.Connection},
		"session":  map[string]any{"id": h.Session.ID, "type": h.Session.Type, "title": h.Session.Title, "version": h.Session.Version},
		"agents":   h.Session.Agents, "done": h.Session.Done, "providers": providers,
		"caps": map[string]any{"rounds": h.Rounds, "day_rounds": h.Session.Budget.Rounds, "day_tokens": h.Session.Budget.Tokens, "day_minutes": h.Session.Budget.Minutes},
	})
	if err != nil {
		return "", fmt.Errorf("digest of handoff %s: %w", h.ID, err)
	}
	canonical := jsontext.Value(text)
	if err := canonical.Canonicalize(); err != nil {
		return "", fmt.Errorf("digest of handoff %s: %w", h.ID, err)
	}
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// Decide accepts or declines a pending handoff of the permit's session. Accepting
// queues exactly one task, in tx. Only a person at a screen decides; whoever comes
// second is told the state.
func (s *Handoffs) Decide(ctx context.Context, tx access.Tx, p access.Permit, id string, d HandoffDecision) (ShownHandoff, error) {
	if err := p.Covers(access.KindSession, access.RightEdit); err != nil {
		return ShownHandoff{}, err
	}
	if p.Principal().Credential != access.CredentialSession {
		return ShownHandoff{}, access.Refuse(access.Forbidden, "Only a person in the browser can decide a handoff.")
	}
	if faults := d.faults(); faults != nil {
		return ShownHandoff{}, refuseFaults(faults...)
	}
	shown, err := s.OneOfSession(ctx, tx, p, id)
	if err != nil {
		return ShownHandoff{}, err
	}
	if shown.State != HandoffPending {
		return ShownHandoff{}, decidedAlready(shown.Handoff)
	}
	if d.Digest != "" && d.Digest != shown.Digest {
		return ShownHandoff{}, access.Refuse(access.Changed, "This is not what you were shown any more. Read it again, then decide.").
			With("state", string(shown.State)).With("digest", shown.Digest)
	}
	to := HandoffDeclined
	if d.Decision == "accept" {
		to = HandoffAccepted
		if err := s.acceptable(ctx, tx, p, shown); err != nil {
			return ShownHandoff{}, err
		}
	}
	return s.settle(ctx, tx, p, shown, to, d.Reason)
}

func (d HandoffDecision) faults() []Fault {
	var faults []Fault
	if d.Decision != "accept" && d.Decision != "decline" {
		faults = append(faults, faultf("/decision", "must be accept or decline"))
	}
	return append(faults, proseFaults("/reason", d.Reason, MaxReason)...)
}

// settle writes the decision down and, where it was accepted, queues its task.
func (s *Handoffs) settle(ctx context.Context, tx access.Tx, p access.Permit, shown ShownHandoff, to HandoffState, reason string) (ShownHandoff, error) {
	who, now := p.Principal(), s.now()
	ok, err := s.store.DecideHandoff(ctx, tx, HandoffVerdict{
		WorkspaceID: p.Workspace(), HandoffID: shown.ID, State: to, Reason: reason, By: who.UserID, Now: now,
	})
	if err != nil {
		return ShownHandoff{}, err
	}
	if !ok { // somebody else was first
		h, err := s.find(ctx, tx, p.Workspace(), shown.ID, now)
		if err != nil {
			return ShownHandoff{}, err
		}
		return ShownHandoff{}, decidedAlready(h)
	}
	shown.State, shown.Reason, shown.DecidedAt, shown.DecidedBy = to, reason, now, Named{who.UserID, who.UserName}
	shown.Digest = ""
	if to != HandoffAccepted {
		return shown, s.record(ctx, tx, who, "handoff.declined", p, shown.Handoff, "")
	}
	h := shown.Handoff
	h.MaxRounds = shown.Rounds
	task, err := s.queue.QueueHandoff(ctx, tx, p, shown.Session, h)
	if err != nil {
		return ShownHandoff{}, err
	}
	shown.TaskID = task.ID
	return shown, s.record(ctx, tx, who, "handoff.accepted", p, shown.Handoff, task.ID)
}

// acceptable checks anew what held when the handoff was proposed: the session takes
// work, and the connection could still propose it.
func (s *Handoffs) acceptable(ctx context.Context, tx access.Tx, p access.Permit, shown ShownHandoff) error {
	if shown.Session.Archived() {
		return access.Refuse(access.Conflict, "This session is in the archive. Restore it first.")
	}
	ref := access.Ref{Kind: access.KindSession, ID: p.ID()}
	facts, err := s.store.ProposerFacts(ctx, tx, shown.ConnectionID, ref)
	if err != nil {
		return err
	}
	if err := access.CheckProposer(facts, ref); err != nil {
		return err
	}
	if !shown.runsCommands() || s.now().Sub(p.Principal().SignedInAt) <= freshSignIn {
		return nil
	}
	return access.Refuse(access.SignInAgain, "This runs a command on this server. Sign in again, then accept it within %d minutes.", int(freshSignIn.Minutes()))
}

// runsCommands reports whether accepting runs a program on this server.
func (h ShownHandoff) runsCommands() bool {
	return len(h.Session.Done.Command) > 0 ||
		slices.ContainsFunc(h.Providers, func(p Provider) bool { return p.Kind == ProviderCommand })
}

// expiryPart is how many handoffs are looked for at once.
const expiryPart = 100

// Expire writes down which handoffs nobody decided in time. They count as
// cancelled before that; this only tells whoever listens.
func (s *Handoffs) Expire(ctx context.Context, work access.Work) error {
	for {
		var found []ExpiredHandoff
		err := work.Read(ctx, func(tx access.Tx) (err error) {
			found, err = s.store.Expired(ctx, tx, s.now(), expiryPart)
			return err
		})
		if err != nil {
			return err
		}
		var failed error
		for _, h := range found {
			failed = errors.Join(failed, work.Write(ctx, func(tx access.Tx) error { return s.expire(ctx, tx, h) }))
		}
		if failed != nil || len(found) < expiryPart {
			return failed
		}
	}
}

func (s *Handoffs) expire(ctx context.Context, tx access.Tx, h ExpiredHandoff) error {
	ok, err := s.store.ExpireHandoff(ctx, tx, h.WorkspaceID, h.ID, reasonExpired, s.now())
	if err != nil || !ok {
		return err
	}
	return s.events.Record(ctx, tx, access.Principal{}, Event{
		WorkspaceID: h.WorkspaceID, ProjectID: h.ProjectID, Type: "handoff.cancelled", Kind: access.KindSession, ResourceID: h.SessionID,
		Data: map[string]any{"handoff_id": h.ID, "reason": reasonExpired},
	})
}
