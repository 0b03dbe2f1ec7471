package tool

import (
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// listCursorLife is how long a list can be gone on with. Cursors that are made to
// be kept, as those of list_resource_changes, do not expire.
const listCursorLife = 24 * time.Hour

// Cursors makes and reads the cursors of lists: sealed, so that nobody can forge
// or read one, and bound to the connection, the tool and the arguments that it
// goes on with. The number of rows asked for may differ from page to page.
type Cursors struct {
	seal *guard.Seal
	now  func() time.Time
}

// NewCursors makes cursors under a secret of this installation, of at least 32
// bytes.
func NewCursors(secret []byte, now func() time.Time) (Cursors, error) {
	seal, err := guard.NewSeal(secret, "tool cursor")
	return Cursors{seal, now}, err
}

// open gives the place that a cursor stands for, "" for the absent one. The
// filters are the other arguments of the tool.
func (c Cursors) open(run *Run, tool, cursor string, filters any) (after string, err error) {
	if cursor == "" {
		return "", nil
	}
	filter, err := filterWord(filters)
	if err != nil {
		return "", err
	}
	place, err := c.seal.Open(cursor, c.now(), holder(run), tool, filter)
	if err != nil {
		return "", refuseArguments([]problem{{"/cursor", "cursor",
			"is not a cursor that was given to this connection for these arguments, or is older than a day"}}).Because(err)
	}
	return string(place), nil
}

// next gives the cursor for a place, "" at the end of the list.
func (c Cursors) next(run *Run, tool, after string, filters any) (string, error) {
	if after == "" {
		return "", nil
	}
	return c.make(run, tool, after, filters, c.now().Add(listCursorLife))
}

func (c Cursors) make(run *Run, tool, after string, filters any, expires time.Time) (string, error) {
	filter, err := filterWord(filters)
	if err != nil {
		return "", err
	}
	return c.seal.Seal([]byte(after), expires, holder(run), tool, filter), nil
}

// holder is whose cursors they are: the connection's, or the task's an agent works on.
func holder(run *Run) string {
	who := run.Permit().Principal()
	if who.TaskID != "" {
		return "task " + who.TaskID
	}
	return who.ConnectionID
}

func filterWord(filters any) (string, error) {
	b, err := json.Marshal(filters, json.Deterministic(true))
	return string(b), err
}

// connectionItself is what tools without a named thing are about.
var connectionItself = []access.Ref{{Kind: access.KindConnection}}
