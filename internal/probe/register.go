package probe

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
)

// registration is a client's request and the part of the answer that it needs
// (RFC 7591 §2, §3.2.1).
type registration struct {
	ClientID      string   `json:"client_id,omitzero"`
	ClientSecret  string   `json:"client_secret,omitzero"`
	ClientName    string   `json:"client_name"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	Scope         string   `json:"scope,omitzero"`
}

// Register makes the host a public client of the server and returns its ID.
func (h *Host) Register(ctx context.Context, endpoint, name, redirectURI string) (clientID string, err error) {
	if endpoint == "" {
		return "", errors.New("the server offers no registration")
	}
	body, err := json.Marshal(registration{
		ClientName: name, RedirectURIs: []string{redirectURI}, AuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	})
	if err != nil {
		return "", err
	}
	e, err := h.do(ctx, "register", http.MethodPost, endpoint, http.Header{"Content-Type": {"application/json"}}, body)
	if err != nil {
		return "", err
	}
	var got registration
	if err := e.oauth(http.StatusCreated, &got); err != nil {
		return "", err
	}
	if got.ClientID == "" {
		return "", errors.New("register: the answer has no client_id")
	}
	return got.ClientID, nil
}
