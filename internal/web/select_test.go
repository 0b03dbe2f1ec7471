package web

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// page is a parsed answer that tests look into by selector: names, #id, .class,
// [attribute] and [attribute=value], with spaces for "somewhere inside".
type page struct {
	t    *testing.T
	root *html.Node
	text string
}

func parsePage(t *testing.T, body string) *page {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatalf("parse page: %v", err)
	}
	return &page{t, root, body}
}

var selectorPart = regexp.MustCompile(`^([a-z0-9]*|\*)((?:#[\w-]+|\.[\w-]+|\[[\w-]+(?:=[^\]]*)?\])*)$`)
var selectorTest = regexp.MustCompile(`#[\w-]+|\.[\w-]+|\[[\w-]+(?:=[^\]]*)?\]`)

// all finds the elements that match the selector.
func (p *page) all(selector string) []*html.Node {
	p.t.Helper()
	found := []*html.Node{p.root}
	for part := range strings.FieldsSeq(selector) {
		m := selectorPart.FindStringSubmatch(part)
		if m == nil {
			p.t.Fatalf("selector %q: cannot read %q", selector, part)
		}
		var next []*html.Node
		for _, scope := range found {
			for n := range scope.Descendants() {
				if n.Type == html.ElementNode && (m[1] == "" || m[1] == "*" || n.Data == m[1]) && meets(n, selectorTest.FindAllString(m[2], -1)) && !slices.Contains(next, n) {
					next = append(next, n)
				}
			}
		}
		found = next
	}
	return found
}

func meets(n *html.Node, tests []string) bool {
	for _, test := range tests {
		switch test[0] {
		case '#':
			if attribute(n, "id") != test[1:] {
				return false
			}
		case '.':
			if !slices.Contains(strings.Fields(attribute(n, "class")), test[1:]) {
				return false
			}
		case '[':
			name, value, exact := strings.Cut(strings.Trim(test, "[]"), "=")
			if !hasAttribute(n, name) || exact && attribute(n, name) != value {
				return false
			}
		}
	}
	return true
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// one finds the only element that matches.
func (p *page) one(selector string) *html.Node {
	p.t.Helper()
	found := p.all(selector)
	if len(found) != 1 {
		p.t.Fatalf("%s matches %d elements, want 1, in\n%s", selector, len(found), p.text)
	}
	return found[0]
}

// count wants so many matches.
func (p *page) count(selector string, want int) {
	p.t.Helper()
	if got := len(p.all(selector)); got != want {
		p.t.Errorf("%s matches %d elements, want %d, in\n%s", selector, got, want, p.text)
	}
}

// says wants the text of the only match.
func (p *page) says(selector, want string) {
	p.t.Helper()
	if got := textOf(p.one(selector)); got != want {
		p.t.Errorf("%s says %q, want %q", selector, got, want)
	}
}

// mentions wants words somewhere on the page, as a person reads it.
func (p *page) mentions(words ...string) {
	p.t.Helper()
	text := textOf(p.one("body"))
	for _, w := range words {
		if !strings.Contains(text, w) {
			p.t.Errorf("the page does not say %q; it says %q", w, text)
		}
	}
}

// value wants the value of an input.
func (p *page) value(name, want string) {
	p.t.Helper()
	if got := attribute(p.one("input[name="+name+"]"), "value"); got != want {
		p.t.Errorf("the field %s holds %q, want %q", name, got, want)
	}
}
