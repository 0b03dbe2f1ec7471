package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/guard"
)

// Saved is a token in a file, with what it is for.
type Saved struct {
	Endpoint     string    `json:"endpoint"`
	Issuer       string    `json:"issuer"`
	ClientID     string    `json:"client_id"`
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token,omitzero"`
	Scope        string    `json:"scope,omitzero"`
	Expires      time.Time `json:"expires,omitzero"` // zero if the server does not say
}

// Saved is what to keep of the sign-in.
func (r *SignInReport) Saved(now time.Time) Saved {
	s := Saved{Endpoint: r.Endpoint, Issuer: r.Issuer, ClientID: r.ClientID,
		AccessToken: r.Grant.AccessToken, RefreshToken: r.Grant.RefreshToken, Scope: r.Grant.Scope}
	if r.ExpiresIn > 0 {
		s.Expires = now.Add(time.Duration(r.ExpiresIn) * time.Second).UTC().Truncate(time.Second)
	}
	return s
}

// ReadSaved reads a saved token.
func ReadSaved(data []byte) (s Saved, err error) {
	if err := guard.Decode(data, &s, guard.KnownMembers); err != nil {
		return s, err
	}
	if s.Endpoint == "" || s.AccessToken == "" {
		return s, errors.New("there is no endpoint or no access_token")
	}
	return s, nil
}

// NewToolCall reads the arguments of a call: a JSON object, "" for none.
func NewToolCall(tool, arguments string) (*ToolCall, error) {
	if arguments == "" {
		arguments = "{}"
	}
	var members map[string]jsontext.Value
	if err := guard.Decode([]byte(arguments), &members); err != nil {
		return nil, fmt.Errorf("the arguments must be a JSON object: %w", err)
	}
	return &ToolCall{tool, jsontext.Value(arguments)}, nil
}
