package api

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Rhythms of what agents say while they speak.
const (
	textEvery  = time.Second / 10 // of each round
	mostRounds = 200              // of a workspace, that a stream begins to follow at once
)

// roundText is a piece of what an agent says, on the wire. An offset of 0 begins
// anew: the round was taken by another attempt.
type roundText struct {
	TaskID    string `json:"task_id"`
	SessionID string `json:"session_id"`
	Number    int64  `json:"number"`
	Offset    int64  `json:"offset"` // Unicode code points before the text
	Text      string `json:"text"`
}

// followed is a round whose text a stream passes on.
type followed struct {
	taskID    string
	number    int64
	sessionID string
	attempt   int64
	offset    int64
}

// followRunning begins with the rounds that run already.
func (st *stream) followRunning(ctx context.Context, tx access.Tx) error {
	for _, team := range st.teams {
		running, err := st.log.RunningRounds(ctx, tx, team, mostRounds)
		if err != nil {
			return err
		}
		for _, r := range running {
			st.follow(followed{taskID: r.TaskID, number: r.Number, sessionID: r.SessionID, attempt: r.Attempt})
		}
	}
	return nil
}

// followStarted goes on with those whose start the listener was told of. Nothing is
// asked while nothing runs.
func (st *stream) followStarted(e workspace.Event) {
	task, _ := e.Data["task_id"].(string)
	number, _ := e.Data["number"].(float64)
	if e.Type == "round.started" && task != "" && number >= 1 {
		st.follow(followed{taskID: task, number: int64(number), sessionID: e.ResourceID})
	}
}

func (st *stream) follow(f followed) {
	for _, other := range st.speaking {
		if other.taskID == f.taskID && other.number == f.number {
			return // its attempt is seen in the row
		}
	}
	st.speaking = append(st.speaking, f)
}

// talk is a channel that tells when to speak again; nil while nobody does.
func (st *stream) talk() <-chan time.Time {
	if len(st.speaking) == 0 {
		return nil
	}
	return time.After(time.Until(st.spoke.Add(textEvery)))
}

// speak passes on what agents said since it was last called.
func (st *stream) speak(ctx context.Context) error {
	if len(st.speaking) == 0 || time.Since(st.spoke) < textEvery {
		return nil
	}
	st.spoke = time.Now()
	var said []roundText
	var left []followed
	err := st.work.Read(ctx, func(tx access.Tx) error {
		said, left = nil, nil
		sees := map[string]bool{} // sessions, at this moment
		for _, f := range st.speaking {
			goesOn, text, err := st.listen(ctx, tx, &f, sees)
			if err != nil {
				return err
			}
			if text.Text != "" {
				said = append(said, text)
			}
			if goesOn {
				left = append(left, f)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(said) > 0 && !st.sessions.still(st.r, st.who) {
		return errLeft
	}
	st.speaking = left
	for _, text := range said {
		if err := st.say("", "round.text", text); err != nil {
			return err
		}
	}
	if len(said) == 0 {
		return nil
	}
	return http.NewResponseController(st.w).Flush()
}

// listen reads what is new of one round, if the listener may see its session now.
// A round that is over, or may not be seen, is not gone on with.
func (st *stream) listen(ctx context.Context, tx access.Tx, f *followed, sees map[string]bool) (goesOn bool, text roundText, err error) {
	may, asked := sees[f.sessionID]
	if !asked {
		ref := access.Ref{Kind: access.KindSession, ID: f.sessionID}
		facts, err := st.source.PersonFacts(ctx, tx, st.who.UserID, ref)
		if err != nil {
			return false, text, err
		}
		may = st.may(facts, access.RightView, ref)
		sees[f.sessionID] = may
	}
	if !may {
		return false, text, nil
	}
	r, err := st.log.RoundText(ctx, tx, f.taskID, f.number, f.offset)
	if err == nil && r.Attempt != f.attempt && f.offset > 0 { // what another attempt said does not count
		f.offset = 0
		r, err = st.log.RoundText(ctx, tx, f.taskID, f.number, 0)
	}
	if err != nil {
		return false, text, err
	}
	text = roundText{TaskID: f.taskID, SessionID: f.sessionID, Number: f.number, Offset: f.offset, Text: r.Text}
	f.attempt, f.offset = r.Attempt, f.offset+int64(utf8.RuneCountInString(r.Text))
	return r.State == workspace.RoundRunning, text, nil
}
