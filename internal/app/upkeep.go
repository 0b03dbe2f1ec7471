package app

import (
	"context"
	"sync"
	"time"
)

// every runs work at once and then in this rhythm until the app stops. A failure
// is logged and tried again next time.
func (a *App) every(name string, rhythm time.Duration, work func(context.Context) error) {
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(rhythm)
		defer tick.Stop()
		for {
			if err := work(a.running); err != nil && a.running.Err() == nil {
				a.log.Warn("upkeep failed", "what", name, "err", err)
			}
			select {
			case <-tick.C:
			case <-a.running.Done():
				return
			}
		}
	})
	a.onStop(name, func(context.Context) error { running.Wait(); return nil })
}
