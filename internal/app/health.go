package app

import (
	"context"
	"net/http"
	"time"
)

// health answers whether the process lives (/healthz) and whether it can serve
// (/readyz: the database answers). Neither says anything about the data.
func (a *App) health(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
		defer cancel()
		if err := a.db.Ping(ctx); err != nil {
			a.log.Warn("not ready", "err", err)
			w.Header().Set("Retry-After", "2")
			say(w, http.StatusServiceUnavailable, "the database does not answer")
			return
		}
		say(w, http.StatusOK, "ok")
	})
}

func say(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
