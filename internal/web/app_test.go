package web

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/osfoundry/osfoundry/internal/access"
)

var unbuilt = fstest.MapFS{"placeholder.html": {Data: []byte("<!doctype html><title>osFoundry</title><p>Run <code>make ui</code> once")}}

// built is a small web app.
func built() fstest.MapFS {
	return fstest.MapFS{
		"placeholder.html":          unbuilt["placeholder.html"],
		"built/index.html":          {Data: []byte(`<!doctype html><title>osFoundry</title><meta property="csp-nonce" nonce="__NONCE__"><script src="/theme.js"></script>`)},
		"built/theme.js":            {Data: []byte("theme")},
		"built/app/main-Ab1.js":     {Data: []byte("plain")},
		"built/app/main-Ab1.js.gz":  {Data: []byte("gzip")},
		"built/app/main-Ab1.js.br":  {Data: []byte("brotli")},
		"built/app/inter-Cd2.woff2": {Data: []byte("font")},
	}
}

func TestEveryAppAddressSaysWhatToDoUntilTheAppIsBuilt(t *testing.T) {
	for _, place := range append([]string{"/"}, appPlaces...) {
		a := serve(t, &house{}, nil).signedIn().get(place).wants(http.StatusOK)
		if got := textOf(a.root); !strings.Contains(got, "Run make ui once") {
			t.Errorf("%s says %q", place, got)
		}
		secured(t, place, a.header, wantPolicy)
	}
	if got := serve(t, &house{}, nil).signedIn().get("/theme.js").status; got != http.StatusNotFound {
		t.Errorf("/theme.js has the status %d", got)
	}
}

func TestTheProgramHasThePageThatStandsInForTheApp(t *testing.T) {
	content, err := fs.Sub(dist, "dist")
	if err != nil {
		t.Fatal(err)
	}
	a, err := readApp(content)
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(parsePage(t, string(a.standIn)).root); !strings.Contains(got, "Run make ui once") {
		t.Errorf("it says %q", got)
	}
}

func TestTheAppIsForWhoIsSignedIn(t *testing.T) {
	b := serve(t, &house{app: built()}, nil)
	b.get("/").leadsTo("/sign-in")
	b.get("/p/p1/notes/n1?tab=t2").leadsTo("/sign-in?next=%2Fp%2Fp1%2Fnotes%2Fn1%3Ftab%3Dt2")
	b.get("/settings").leadsTo("/sign-in?next=%2Fsettings")
	serve(t, &house{app: built(), needsSetup: true}, nil).get("/w/w1").leadsTo("/setup")
	serve(t, &house{app: built(), sessionErr: access.Refuse(access.Unavailable, "no")}, nil).get("/").wants(http.StatusServiceUnavailable)
	b.signedIn()
	for _, place := range append([]string{"/", "/p/p1/notes/n1/t2", "/w/w1/activity"}, appPlaces...) {
		if a := b.get(place).wants(http.StatusOK); !strings.Contains(a.text, `src="/theme.js"`) {
			t.Errorf("%s is not the app: %s", place, a.text)
		}
	}
	b.get("/packages").wants(http.StatusNotFound)
	b.post("/settings").wants(http.StatusMethodNotAllowed)
	b.get("/connections").wants(http.StatusOK).says("h1", "Hello, Mara Ruiz")
}

var shellNonce = regexp.MustCompile(`nonce="([A-Za-z0-9+/]{24})"`)

func TestTheShellHasANonceOfItsOwnAndItsPolicy(t *testing.T) {
	b := serve(t, &house{app: built()}, nil).signedIn()
	seen := map[string]bool{}
	for range 3 {
		a := b.get("/").wants(http.StatusOK)
		m := shellNonce.FindStringSubmatch(a.text)
		if m == nil || seen[m[1]] {
			t.Fatalf("no nonce, or one that was there before: %s", a.text)
		}
		seen[m[1]] = true
		secured(t, "shell", a.header, "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"+m[1]+"'; img-src 'self' data: blob:; font-src 'self'; "+
			"connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "+
			"require-trusted-types-for 'script'; trusted-types app")
		if got := a.header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control is %q, want no-store", got)
		}
	}
}

func TestFilesOfTheAppAreKeptForEverAndSentSmall(t *testing.T) {
	b := serve(t, &house{app: built()}, nil)
	get := func(path, accepted, tag string) answer {
		r := b.request(http.MethodGet, path, "")
		r.Header.Set("Accept-Encoding", accepted)
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		return b.do(r)
	}
	for accepted, want := range map[string]string{
		"br": "brotli", "gzip, deflate, br": "brotli", "gzip": "gzip", "BR;q=0.5, gzip": "brotli", "br;q=0, gzip;q=1": "gzip",
		"br; q=0.000": "plain", "br;q=x": "plain", "br;level=3": "plain", "*": "plain", "identity": "plain", "brotli": "plain", "": "plain",
	} {
		a := get("/app/main-Ab1.js", accepted, "")
		if a.status != http.StatusOK || !strings.Contains(a.text, want) {
			t.Errorf("%q gives %d %q, want %s", accepted, a.status, a.text, want)
		}
		coding := map[string]string{"brotli": "br", "gzip": "gzip"}[want]
		for name, want := range map[string]string{
			"Content-Encoding": coding, "Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding", "Content-Type": "text/javascript; charset=utf-8",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%q: %s is %q, want %q", accepted, name, got, want)
			}
		}
		secured(t, "script of the app", a.header, "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'")
		if again := get("/app/main-Ab1.js", accepted, a.header.Get("ETag")); again.status != http.StatusNotModified {
			t.Errorf("%q: asked again with its tag, the status is %d", accepted, again.status)
		}
	}
	if a := get("/app/inter-Cd2.woff2", "br", ""); a.header.Get("Content-Type") != "font/woff2" || a.header.Get("Content-Encoding") != "" {
		t.Errorf("a font has the headers %v", a.header)
	}
	if a := get("/theme.js", "", ""); a.status != http.StatusOK || a.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("/theme.js: status %d, Cache-Control %q", a.status, a.header.Get("Cache-Control"))
	}
	for _, path := range []string{"/app/main-Ab1.js.br", "/app/none.js", "/app/", "/app/..%2findex.html", "/index.html", "/app/index.html"} {
		if got := get(path, "br", "").status; got != http.StatusNotFound {
			t.Errorf("%s has the status %d", path, got)
		}
	}
}

func TestAnAppThatIsNotWholeStopsTheStart(t *testing.T) {
	for name, spoil := range map[string]func(fstest.MapFS){
		"no page to stand in": func(m fstest.MapFS) { delete(m, "placeholder.html") },
		"no theme":            func(m fstest.MapFS) { delete(m, "built/theme.js") },
		"no place for nonce":  func(m fstest.MapFS) { m["built/index.html"] = &fstest.MapFile{Data: []byte("<p>")} },
	} {
		m := built()
		spoil(m)
		if _, err := readApp(m); err == nil {
			t.Errorf("%s: is read without an error", name)
		}
	}
}
