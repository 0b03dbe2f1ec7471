package web

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// dist holds the web app as `make ui` builds it into dist/built, and the page
// that stands in for it until then.
//
//go:embed all:dist
var dist embed.FS

const (
	standIn    = "placeholder.html"
	buildDir   = "built/"
	shellFile  = buildDir + "index.html"
	builtFiles = "app/" // named by their content
	themeFile  = "theme.js"

	// noncePlace is where the shell wants the nonce of each answer.
	noncePlace = "__NONCE__"
)

// appPlaces are the addresses of the web app; what follows a slash is read in the
// browser. Home is "/".
var appPlaces = []string{"/w/", "/p/", "/s/", "/g/", "/settings", "/settings/", "/search"}

// appTypes are the kinds of files that a build makes.
var appTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".woff2": "font/woff2", ".svg": "image/svg+xml",
}

// app is the built web app in memory.
type app struct {
	shell   []byte // nil if the app was not built into this program
	standIn []byte
	files   map[string]appFile // by path under built/
}

// appFile is a file in each encoding that the build made of it.
type appFile struct {
	plain, gzip, brotli []byte
	contentType, etag   string
}

// readApp reads the content of dist.
func readApp(files fs.FS) (*app, error) {
	a := &app{files: map[string]appFile{}}
	var err error
	if a.standIn, err = fs.ReadFile(files, standIn); err != nil {
		return nil, err
	}
	a.shell, err = fs.ReadFile(files, shellFile)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(a.shell, []byte(noncePlace)) {
		return nil, fmt.Errorf("%s has no place for the nonce", shellFile)
	}
	if err := a.read(files, themeFile); err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, buildDir+builtFiles+"*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if appTypes[path.Ext(name)] == "" {
			continue // an encoding of another
		}
		if err := a.read(files, strings.TrimPrefix(name, buildDir)); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *app) read(files fs.FS, name string) error {
	plain, err := fs.ReadFile(files, buildDir+name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(plain)
	f := appFile{plain: plain, contentType: appTypes[path.Ext(name)], etag: base64.RawURLEncoding.EncodeToString(sum[:12])}
	for suffix, body := range map[string]*[]byte{".gz": &f.gzip, ".br": &f.brotli} {
		*body, err = fs.ReadFile(files, buildDir+name+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	a.files[name] = f
	return nil
}

func (a *app) built() bool { return a.shell != nil }

// mountApp adds the addresses of the web app.
func (s *Site) mountApp(mux *http.ServeMux) {
	for _, place := range appPlaces {
		mux.HandleFunc(place, s.methods(s.appPage, nil))
	}
	mux.HandleFunc("/"+themeFile, s.methods(func(w http.ResponseWriter, r *http.Request) {
		s.appFile(w, r, themeFile, "no-cache")
	}, nil))
	mux.HandleFunc("/"+builtFiles+"{name}", s.methods(func(w http.ResponseWriter, r *http.Request) {
		s.appFile(w, r, builtFiles+r.PathValue("name"), "public, max-age=31536000, immutable")
	}, nil))
}

// appPage answers with the app's shell, which reads the address itself. Whoever
// is not signed in does that first.
func (s *Site) appPage(w http.ResponseWriter, r *http.Request) {
	_, signedIn, err := s.Sessions.Browser(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if !signedIn {
		s.toSignIn(w, r)
		return
	}
	if !s.app.built() {
		s.setHeaders(w.Header(), "")
		s.write(w, r, s.app.standIn)
		return
	}
	s.showShell(w, r)
}

// showShell sends the shell with a nonce of its own, by which libraries that make
// style sheets in the browser may do so.
func (s *Site) showShell(w http.ResponseWriter, r *http.Request) {
	random := make([]byte, 18)
	rand.Read(random)
	nonce := base64.StdEncoding.EncodeToString(random)
	s.setHeaders(w.Header(), "")
	w.Header().Set("Content-Security-Policy", shellPolicy(nonce))
	s.write(w, r, bytes.ReplaceAll(s.app.shell, []byte(noncePlace), []byte(nonce)))
}

func (s *Site) write(w http.ResponseWriter, r *http.Request, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	if r.Method == http.MethodHead {
		return
	}
	if _, err := w.Write(page); err != nil {
		s.Log.DebugContext(r.Context(), "page not sent", "path", r.URL.Path, "err", err)
	}
}

// appFile sends a file of the build in the smallest encoding that the browser
// takes (RFC 9110 §12.5.3).
func (s *Site) appFile(w http.ResponseWriter, r *http.Request, name, keep string) {
	file, ok := s.app.files[name]
	if !ok {
		s.notFound(w, r)
		return
	}
	h := w.Header()
	s.setHeaders(h, "")
	if path.Ext(name) == ".js" {
		h.Set("Content-Security-Policy", scriptPolicy)
	}
	h.Set("Cache-Control", keep)
	h.Set("Content-Type", file.contentType)
	h.Set("Vary", "Accept-Encoding")
	body, tag := file.plain, file.etag
	switch accepted := r.Header.Get("Accept-Encoding"); {
	case file.brotli != nil && accepts(accepted, "br"):
		h.Set("Content-Encoding", "br")
		body, tag = file.brotli, tag+"-br"
	case file.gzip != nil && accepts(accepted, "gzip"):
		h.Set("Content-Encoding", "gzip")
		body, tag = file.gzip, tag+"-gz"
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// accepts reports whether an Accept-Encoding names the coding, and not with a
// weight of nothing.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, weighed := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		value, isQ := strings.CutPrefix(strings.TrimSpace(weight), "q=")
		if !weighed {
			return true
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return isQ && err == nil && q > 0
	}
	return false
}
