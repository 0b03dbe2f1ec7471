package probe

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// describe says in a few words what came back.
func (got *answer) describe() string {
	switch {
	case got.failure != "":
		return got.detail
	case got.stream && len(got.Body) == 0:
		return "an event stream"
	case got.redirect(got.URL) != nil:
		return "to " + withoutQuery(got.redirect(got.URL))
	case got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden:
		return got.describeRefusal()
	case len(got.Body) == 0:
		return "nothing"
	case got.html():
		return "a page of HTML"
	}
	if m, ok := got.message(); ok {
		return m.describe()
	}
	return got.describeDocument()
}

func (got *answer) describeRefusal() string {
	c, ok := bearer(got.Header)
	switch {
	case !ok && got.Status == http.StatusForbidden:
		return "refused"
	case !ok:
		return "no challenge"
	case c.ResourceMetadata == "":
		return "a bare challenge"
	}
	return "challenge"
}

func (m message) describe() string {
	if m.Error != nil {
		return fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	var r struct {
		Tools    []jsontext.Value `json:"tools"`
		Version  string           `json:"protocolVersion"`
		Versions []string         `json:"supportedVersions"`
		IsError  bool             `json:"isError"`
		Content  []jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(m.Result, &r, lenient); err != nil {
		return "a result"
	}
	switch {
	case r.Tools != nil:
		return fmt.Sprintf("%d tools", len(r.Tools))
	case r.Version != "":
		return "agreed on " + r.Version
	case len(r.Versions) > 0:
		return fmt.Sprintf("%d versions", len(r.Versions))
	case r.IsError:
		return "a tool's error"
	case r.Content != nil:
		return "a tool's result"
	}
	return "a result"
}

func (got *answer) describeDocument() string {
	var d struct {
		Resource string `json:"resource"`
		Issuer   string `json:"issuer"`
		ClientID string `json:"client_id"`
		Error    any    `json:"error"`
	}
	if err := json.Unmarshal(got.Body, &d, lenient); err != nil {
		return "no JSON: " + shorten(got.Body)
	}
	text, isText := d.Error.(string)
	switch {
	case isText:
		return "error " + text
	case d.ClientID != "":
		return "a client"
	case d.Resource != "":
		return "of " + d.Resource
	case d.Issuer != "":
		return "of " + d.Issuer
	}
	return "JSON"
}
