package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// Person is who sits at the browser, and what they choose.
type Person struct {
	Email     string
	Password  string
	Workspace string   // ID; "" takes the first that is offered
	Scopes    []string // to leave ticked; nil leaves all
	Cancel    bool     // press Cancel instead of Connect
	Replace   bool     // tick that this replaces an earlier connection
}

// Browser plays a person's browser, without JavaScript: a cookie jar, forms, and
// redirects within one site. Cookies never leave for another.
type Browser struct {
	client *http.Client
}

// NewBrowser makes a browser that nobody has used.
func NewBrowser() (*Browser, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return &Browser{client: &http.Client{
		Timeout: 30 * time.Second, Jar: jar, Transport: &http.Transport{Proxy: nil, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close gives the connections free.
func (b *Browser) Close() { b.client.CloseIdleConnections() }

// page is what the browser shows.
type page struct {
	url    *url.URL
	status int
	root   *html.Node
	next   *url.URL // of a redirect
}

// ErrRefused says that a form came back with an error.
var ErrRefused = errors.New("the form was refused")

// maxPages bounds a walk from page to page.
const maxPages = 15

// Authorize opens the authorization request, signs in and decides as the person
// would, and returns the client's callback address that the browser was sent to.
// The callback itself is not fetched.
func (b *Browser) Authorize(ctx context.Context, address string, as Person) (*url.URL, error) {
	at, err := b.get(ctx, address)
	if err != nil {
		return nil, err
	}
	home := at.url
	signedIn, consented := false, false
	for range maxPages {
		back := at.next
		if link := at.find("a", "id", "continue"); link != nil {
			if back, err = at.url.Parse(attribute(link, "href")); err != nil {
				return nil, fmt.Errorf("the way back: %w", err)
			}
		}
		switch {
		case back != nil && (back.Scheme != home.Scheme || back.Host != home.Host):
			return back, nil
		case back != nil:
			at, err = b.get(ctx, back.String())
		case at.find("button", "name", "decision") != nil && !consented:
			consented = true
			at, err = b.consent(ctx, at, as)
		case at.find("input", "name", "password") != nil && !signedIn:
			signedIn = true
			at, err = b.submit(ctx, at, at.find("input", "name", "password"), url.Values{"email": {as.Email}, "password": {as.Password}})
		default:
			return nil, fmt.Errorf("%w: HTTP %d at %s: %s", ErrRefused, at.status, at.url.Path, at.alert())
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the browser was sent from page to page")
}

// consent fills the consent form (product.md §2).
func (b *Browser) consent(ctx context.Context, at page, as Person) (page, error) {
	fields := url.Values{"decision": {"connect"}}
	if as.Cancel {
		fields.Set("decision", "cancel")
		return b.submit(ctx, at, at.find("button", "name", "decision"), fields)
	}
	workspace := as.Workspace
	if offered := at.all("input", "name", "workspace_id"); workspace == "" && len(offered) > 0 {
		workspace = attribute(offered[0], "value")
	}
	fields["workspace_id"], fields["approve"] = []string{workspace}, []string{workspace}
	for _, box := range at.all("input", "name", "scope") {
		scope := attribute(box, "value")
		if attribute(box, "type") == "hidden" || as.Scopes == nil || slices.Contains(as.Scopes, scope) {
			fields.Add("scope", scope)
		}
	}
	if as.Replace {
		for _, box := range at.all("input", "name", "replace") {
			fields.Add("replace", attribute(box, "value"))
		}
	}
	return b.submit(ctx, at, at.find("button", "name", "decision"), fields)
}

// submit posts the form around the node: its hidden fields as they were found, and
// these in place of those of the same name.
func (b *Browser) submit(ctx context.Context, at page, inside *html.Node, fields url.Values) (page, error) {
	form := inside
	for form != nil && form.Data != "form" {
		form = form.Parent
	}
	if form == nil {
		return page{}, errors.New("a field stands outside of any form")
	}
	for _, hidden := range within(form, "input", "type", "hidden") {
		if name := attribute(hidden, "name"); fields[name] == nil {
			fields.Add(name, attribute(hidden, "value"))
		}
	}
	target, err := at.url.Parse(attribute(form, "action"))
	if err != nil {
		return page{}, fmt.Errorf("the form's address: %w", err)
	}
	if target.Host != at.url.Host {
		return page{}, errors.New("the form sends what a person typed to another site")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), strings.NewReader(fields.Encode()))
	if err != nil {
		return page{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", at.url.Scheme+"://"+at.url.Host)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.open(r)
}

func (b *Browser) get(ctx context.Context, address string) (page, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return page{}, err
	}
	return b.open(r)
}

func (b *Browser) open(r *http.Request) (page, error) {
	r.Header.Set("Accept", "text/html")
	answer, err := b.client.Do(r)
	if err != nil {
		return page{}, withoutURL(err)
	}
	defer answer.Body.Close()
	at := page{url: answer.Request.URL, status: answer.StatusCode}
	if location := answer.Header.Get("Location"); location != "" {
		if at.next, err = at.url.Parse(location); err != nil {
			return page{}, fmt.Errorf("a redirect leads nowhere: %w", err)
		}
	}
	at.root, err = html.Parse(io.LimitReader(answer.Body, maxAnswer))
	return at, err
}

func (p page) find(tag, name, value string) *html.Node {
	if found := p.all(tag, name, value); len(found) > 0 {
		return found[0]
	}
	return nil
}

func (p page) all(tag, name, value string) []*html.Node { return within(p.root, tag, name, value) }

// alert is what the page says went wrong, or its heading.
func (p page) alert() string {
	for _, tag := range []string{"div", "p", "section"} {
		if n := p.find(tag, "role", "alert"); n != nil {
			return shorten([]byte(textOf(n)))
		}
	}
	for n := range p.root.Descendants() {
		if n.Data == "h1" {
			return shorten([]byte(textOf(n)))
		}
	}
	return "a page without a heading"
}

func within(root *html.Node, tag, name, value string) (found []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == tag && attribute(n, name) == value {
			found = append(found, n)
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return b.String()
}
