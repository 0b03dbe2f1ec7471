package api_test

import (
	"context"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// speaks adds to what a round says.
func (w *world) speaks(ref access.RoundRef, text string) {
	w.Helper()
	w.did("append", func(ctx context.Context, tx access.Tx) (bool, error) {
		return w.rounds().AppendText(ctx, tx, ref, text)
	})
}

// hears reads texts of the round until all of it was said, and gives the number of
// messages. Each goes on where the one before ended.
func (l *listening) hears(ref access.RoundRef, want string) (messages int) {
	l.w.Helper()
	said := ""
	for said != want {
		m, ok := l.next()
		if !ok {
			l.w.Fatalf("the stream ended after %q, want %q", said, want)
		}
		if m.name != "round.text" {
			continue
		}
		if m.id != "" || m.data["task_id"] != ref.TaskID || m.data["session_id"] != "crew" || m.data["number"] != float64(ref.Number) {
			l.w.Fatalf("got %+v, want a text of %+v without an ID", m, ref)
		}
		offset := m.data["offset"].(float64)
		if offset == 0 {
			said = ""
		}
		if int(offset) != utf8.RuneCountInString(said) {
			l.w.Fatalf("got %+v behind %q", m, said)
		}
		said += m.data["text"].(string)
		messages++
	}
	return messages
}

func TestStreamsTellWhatAgentsSay(t *testing.T) {
	eachWorld(t, func(w *world) {
		id := w.queue("ben", "crew")
		early := w.browser("ben").listen("")
		ref := w.begin(id, 1)
		w.speaks(ref, "Grüße ")
		early.hears(ref, "Grüße ")
		w.speaks(ref, "an 東京")
		late := w.browser("vic").listen("") // in the middle
		late.hears(ref, "Grüße an 東京")
		second := w.begin(id, 1) // another attempt begins anew
		w.speaks(second, "Anew.")
		early.hears(second, "Anew.")
		late.hears(second, "Anew.")
		w.did("end", func(ctx context.Context, tx access.Tx) (bool, error) {
			return w.rounds().EndRound(ctx, tx, second, workspace.RoundEnd{State: workspace.RoundDone, Turn: workspace.Turn{Text: "Anew. The end."}}, workspace.Use{Rounds: 1})
		})
		for _, l := range []*listening{early, late} { // the last words come too
			m, ok := l.next()
			for ok && m.name != "round.text" {
				m, ok = l.next()
			}
			if !ok || m.data["text"] != " The end." || m.data["offset"] != 5.0 {
				w.Errorf("got %+v, want the end of the round", m)
			}
		}
	})
}

// A person hears of rounds that they may see at that moment, and of no others.
func TestWhatAgentsSayIsForThoseWhoSeeTheSession(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben, pia := w.browser("ben").listen(""), w.browser("pia").listen("")
		listed := w.queue("ben", "circle") // for ben and vic
		first := w.begin(listed, 1)
		w.speaks(first, "secret")
		open := w.queue("ben", "crew")
		second := w.begin(open, 1)
		w.speaks(second, "public")
		pia.hears(second, "public") // and nothing of circle, or hears would fail
		w.exec(`DELETE FROM resource_acl WHERE user_id = 'ben'`)
		w.speaks(first, " more")
		w.speaks(second, ", really")
		for said := ""; said != "public, really"; {
			m, ok := ben.next()
			if !ok {
				w.Fatal("the stream ended")
			}
			if m.name != "round.text" {
				continue
			}
			text := m.data["text"].(string)
			if m.data["task_id"] == open {
				said += text
			} else if text != "secret" {
				w.Errorf("ben hears %q of a session that he may not see any more", text)
			}
		}
	})
}

func TestARoundIsHeardAtMostTenTimesASecond(t *testing.T) {
	eachWorld(t, func(w *world) {
		id := w.queue("ben", "crew")
		ref := w.begin(id, 1)
		l := w.browser("ben").listen("")
		began := time.Now()
		said := ""
		for i := range 60 {
			part := fmt.Sprintf("%d ", i)
			w.speaks(ref, part)
			said += part
			w.script("mara").wants(200, "PATCH", "/projects/beta", fmt.Sprintf(`{"name":"beta %d"}`, i)) // which wakes the stream
		}
		messages := l.hears(ref, said)
		if most := int(time.Since(began)/(100*time.Millisecond)) + 2; messages > most {
			w.Errorf("got %d messages in %v, want at most %d", messages, time.Since(began), most)
		}
	})
}
