package tool

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// caller is who comes to the gate: an outside assistant with a token, or an agent
// of ours with a round. Both take the same steps; only what proves who they are,
// and so what is read, differs.
type caller interface {
	// hold keeps what the check is about to read as it is until tx ends.
	hold(ctx context.Context, c *Catalogue, tx access.Tx, ref access.Ref, right access.Right) error
	// look reads the state of the caller and of one thing.
	look(ctx context.Context, c *Catalogue, tx access.Tx, ref access.Ref) (sight, error)
	// inOneLook reports whether one look is one statement.
	inOneLook() bool
	// limited reports whether rates count its calls.
	limited() bool
	// scope is whose idempotency keys it uses.
	scope(who access.Principal) string
	// detail is what the audit says of it besides its IDs, nil for nothing.
	detail(who access.Principal) map[string]any
}

// sight is what one look saw.
type sight struct {
	facts    access.Facts // for the audit
	identify func(now time.Time) (access.Principal, error)
	check    func(t *Tool, ref access.Ref, now time.Time) (access.Permit, error)
}

// outside is an outside assistant.
type outside struct{ token access.TokenHash }

func (o outside) hold(ctx context.Context, c *Catalogue, tx access.Tx, ref access.Ref, _ access.Right) error {
	return c.Source.Touch(ctx, tx, o.token, ref, c.Now())
}

func (o outside) look(ctx context.Context, c *Catalogue, tx access.Tx, ref access.Ref) (sight, error) {
	f, err := c.Source.ConnectionFacts(ctx, tx, o.token, ref)
	return sight{
		facts:    f,
		identify: func(now time.Time) (access.Principal, error) { return access.Identify(f, now) },
		check: func(t *Tool, ref access.Ref, now time.Time) (access.Permit, error) {
			return access.CheckConnection(f, t.Needs, ref, now)
		},
	}, err
}

func (outside) inOneLook() bool { return true }

func (outside) limited() bool { return true }

func (outside) scope(who access.Principal) string { return who.ConnectionID }

func (outside) detail(access.Principal) map[string]any { return nil }
