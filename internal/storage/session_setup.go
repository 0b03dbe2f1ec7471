package storage

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/workspace"
)

// readSessionSetup reads what sessionSetup wrote.
func readSessionSetup(agents, done string, s *workspace.Session) error {
	err := errors.Join(json.Unmarshal([]byte(agents), &s.Agents), json.Unmarshal([]byte(done), &s.Done))
	if err != nil {
		return fmt.Errorf("agents of session %s: %w", s.ID, err)
	}
	return nil
}

// sessionSetup is how agents and done-condition are stored.
func sessionSetup(s workspace.Session) (agents, done string, err error) {
	a, err := json.Marshal(s.Agents)
	if err != nil {
		return "", "", err
	}
	d, err := json.Marshal(s.Done)
	return string(a), string(d), err
}
