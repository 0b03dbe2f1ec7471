package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"time"
)

//go:embed assets
var assetFiles embed.FS

var assetTypes = map[string]string{
	"tokens.css":  "text/css; charset=utf-8",
	"auth.css":    "text/css; charset=utf-8",
	"favicon.svg": "image/svg+xml",
}

// asset is one file of the pages; its version is a part of its address, so that
// browsers may keep it for ever.
type asset struct {
	body        []byte
	contentType string
	version     string
}

type assets struct{ byName map[string]asset }

func readAssets() (*assets, error) {
	a := &assets{byName: map[string]asset{}}
	for name, contentType := range assetTypes {
		body, err := fs.ReadFile(assetFiles, "assets/"+name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		a.byName[name] = asset{body, contentType, base64.RawURLEncoding.EncodeToString(sum[:9])}
	}
	return a, nil
}

// address is where a page finds the asset.
func (a *assets) address(name string) (string, error) {
	file, ok := a.byName[name]
	if !ok {
		return "", fmt.Errorf("no asset %q", name)
	}
	return "/assets/" + name + "?v=" + file.version, nil
}

func (s *Site) asset(w http.ResponseWriter, r *http.Request) {
	file, ok := s.assets.byName[r.PathValue("name")]
	if !ok {
		s.notFound(w, r)
		return
	}
	h := w.Header()
	s.setHeaders(h, "")
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == file.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Content-Type", file.contentType)
	h.Set("ETag", `"`+file.version+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file.body))
}
