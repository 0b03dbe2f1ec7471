package oauth

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Purge removes what is over: requests, codes and tokens that expired, clients
// that nobody approved within a day, and clients without a connection that nobody
// used for a year. It is for running now and then; nothing that it removes would
// have been accepted any more.
func (s *Server) Purge(ctx context.Context) error {
	var removed Expired
	err := s.Work.Write(ctx, func(tx access.Tx) (err error) {
		removed, err = s.Store.Purge(ctx, tx, s.cutoffs(s.Now()))
		return err
	})
	if err != nil {
		return err
	}
	if removed != (Expired{}) {
		s.Log.Info("expired sign-ins removed", "clients", removed.Clients, "requests", removed.Requests, "codes", removed.Codes, "tokens", removed.Tokens)
	}
	return nil
}

// cutoffs are the moments before which a purge removes things.
func (s *Server) cutoffs(now time.Time) Cutoffs {
	return Cutoffs{
		Now: now, Unused: now.Add(-s.Figures.UnusedLife), Idle: now.Add(-s.Figures.IdleLife),
		Documents: now.Add(-s.Figures.DocumentMax), Codes: now.Add(-s.Figures.CodeMemory),
	}
}
