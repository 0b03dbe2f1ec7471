package oauth

import (
	"net/url"
	"strings"
	"testing"
)

func TestRedirectsThatMeanTheSameToEveryoneAreAccepted(t *testing.T) {
	for _, text := range []string{
		"https://claude.ai/api/mcp/auth_callback",
		"https://app.example:8443/cb?x=1&y=%2F",
		"https://app.example",
		"https://xn--bcher-kva.example/cb",
		"https://192.0.2.7/cb",
		"https://[2001:db8::1]:8443/cb",
		"http://127.0.0.1/cb",
		"http://127.0.0.1:33418/",
		"http://127.8.9.1:1/cb",
		"http://[::1]:6276/oauth/callback",
		"http://localhost:8787/callback",
		"http://localhost",
		"cursor://anysphere.cursor-mcp/oauth/callback",
		"vscode://vscode.github-authentication/did-authenticate",
		"com.example.app:/callback",
		"com.example.app://oauth/callback",
	} {
		if _, fault := parseRedirect(text); fault != "" {
			t.Errorf("%s: got %q, want it accepted", text, fault)
		}
	}
}

var hostileRedirects = []string{
	"https://app.example@evil.example/cb",
	`https://evil.example\@app.example/cb`,
	"https://app.example%2f@evil.example/",
	"https://user:pass@app.example/cb",
	"http://127.0.0.1:80%25@evil.example/",
	"http://127.0.0.1.evil.example/",
	"http://localhost.evil.example/",
	"http://127.1/", "http://0x7f.1/", "https://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/", "https://127.1/",
	"http://[::ffff:127.0.0.1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::1%25lo]/", "http://[::1/", "http://[::1]evil.example/",
	"http://0.0.0.0/", "http://10.0.0.1/cb", "http://app.example/cb",
	"https://app.example/..;/x", "https://app.example/../x", "https://app.example/a/..", "https://app.example/./x",
	"https://app.example/%2e%2e/x", "https://app.example/%252e%252e/x", "https://app.example/a%2f..%2fx", "https://app.example/a%5c..%5cx",
	"https://\u0430pp.example/cb", "https://app.example/\u00fc",
	"https://app.example/cb#x", "https://app.example/cb#",
	"https://app.example/\x00", "https://app.example/\n", "https://app.example/%00", "https://app.example/%0d%0a", "https://app.example/%", "https://app.example/%2",
	"https://app.example /cb", " https://app.example/cb", "https://app.example/cb\t",
	"https:app.example", "https:///cb", "https://", "https://:443/", "https://app.example:/", "https://app.example:0/", "https://app.example:65536/", "https://app.example:08/", "https://app.example:8080:1/",
	"https://.example/", "https://app..example/", "https://app.example./",
	"javascript:alert(1)", "JavaScript://app.example/%0aalert(1)", "data:text/html,x", "file:///etc/passwd", "blob:https://app.example/x", "vbscript:x",
	"myapp:/cb", "app://cb", "cursor:/cb", "cursor://evil.example/cb", "vscode:cb", "com.example.app:cb", "com..app:/cb", ".com:/cb", "1.2:/cb",
	"/cb", "//app.example/cb", "app.example/cb", "", "urn:ietf:wg:oauth:2.0:oob",
	"https://app.example/" + strings.Repeat("a", maxRedirectLen),
}

func TestRedirectsThatCouldMeanAnotherHostAreRefused(t *testing.T) {
	for _, text := range hostileRedirects {
		if _, fault := parseRedirect(text); fault == "" {
			t.Errorf("%q: accepted, want it refused", text)
		}
	}
}

func TestOnlyTheLoopbackPortIsIgnored(t *testing.T) {
	for _, c := range []struct {
		registered, asked string
		want              bool
	}{
		{"https://app.example/cb", "https://app.example/cb", true},
		{"https://app.example/cb", "https://app.example:443/cb", false},
		{"https://app.example/cb", "https://app.example/cb/", false},
		{"https://app.example/cb", "https://app.example/cb?x=1", false},
		{"https://app.example/cb", "https://app.example/CB", false},
		{"https://app.example/cb", "https://APP.example/cb", false},
		{"https://app.example/cb", "https://app.example/c%62", false},
		{"https://app.example/a/b", "https://app.example/a%2Fb", false},
		{"https://app.example/cb", "http://app.example/cb", false},
		{"https://app.example/cb", "https://app.example.evil.example/cb", false},
		{"https://localhost/cb", "https://localhost:8443/cb", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:33418/cb", true},
		{"http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true},
		{"http://127.0.0.1:1/cb", "http://127.0.0.1/cb", true},
		{"http://localhost:8787/cb", "http://localhost:9/cb", true},
		{"http://[::1]:1/cb", "http://[::1]:2/cb", true},
		{"http://localhost/cb", "http://127.0.0.1/cb", false},
		{"http://127.0.0.1/cb", "http://127.0.0.2/cb", false},
		{"http://127.0.0.1/cb", "https://127.0.0.1/cb", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:1/cb/", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:1/cb?x=1", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb", false},
		{"com.example.app:/cb", "com.example.app:/cb", true},
		{"com.example.app://h:1/cb", "com.example.app://h:2/cb", false},
	} {
		if _, got := allowedRedirect([]string{c.registered, "https://other.example/"}, c.asked); got != c.want {
			t.Errorf("registered %s, asked %s: got %v, want %v", c.registered, c.asked, got, c.want)
		}
	}
	if _, ok := allowedRedirect([]string{"https://a.example/", "https://b.example/"}, ""); ok {
		t.Error("nothing asked, two registered: got one of them, want none")
	}
	if r, ok := allowedRedirect([]string{"https://a.example/"}, ""); !ok || r.text != "https://a.example/" {
		t.Errorf("nothing asked, one registered: got %q, %v", r.text, ok)
	}
}

func TestAnswersKeepTheRedirectsOwnQuery(t *testing.T) {
	r, fault := parseRedirect("https://app.example/cb?tenant=a%2Fb&code=planted&iss=planted&&state=planted")
	if fault != "" {
		t.Fatal(fault)
	}
	got := r.with("code", "c", "state", "s p/ü", "iss", "https://me.example")
	want := "https://app.example/cb?tenant=a%2Fb&code=c&state=s+p%2F%C3%BC&iss=https%3A%2F%2Fme.example"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func FuzzRedirect(f *testing.F) {
	for _, text := range hostileRedirects {
		f.Add(text)
	}
	f.Add("http://127.0.0.1:33418/cb?x=%20")
	f.Add("cursor://anysphere.cursor-mcp/oauth/callback")
	f.Fuzz(func(t *testing.T, text string) {
		r, fault := parseRedirect(text)
		if fault != "" {
			return
		}
		u, err := url.Parse(text) // a second reader must see the same
		if err != nil {
			t.Fatalf("%q is accepted, and no URL to net/url: %v", text, err)
		}
		if u.Scheme != r.scheme || !strings.EqualFold(u.Hostname(), r.host) || u.Port() != r.port || u.User != nil || u.Fragment != "" {
			t.Fatalf("%q: read as %+v, by net/url as %+v", text, r, u)
		}
		if u.Scheme == "http" && u.Hostname() != "" && !r.loopback {
			t.Fatalf("%q: http to elsewhere", text)
		}
		to, err := url.Parse(r.with("code", "c", "iss", "i"))
		if err != nil || to.Host != u.Host || to.Scheme != u.Scheme || to.EscapedPath() != u.EscapedPath() || len(to.Query()["iss"]) != 1 {
			t.Fatalf("%q: the answer goes to %v, %v", text, to, err)
		}
	})
}
