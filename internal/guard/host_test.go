package guard

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func site(t *testing.T, c SiteConfig) *Site {
	t.Helper()
	s, err := NewSite(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOnlyConfiguredHostsAreServed(t *testing.T) {
	s := site(t, SiteConfig{
		PublicURLs: []string{"https://Foundry.example", "http://127.0.0.1:8787/", "http://[::1]:8787"},
		Hosts:      []string{"Health.internal:9000"},
	})
	h := s.OnlyOurHosts(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for host, want := range map[string]int{
		"foundry.example":        200,
		"FOUNDRY.example":        200,
		"foundry.example:443":    200,
		"127.0.0.1:8787":         200,
		"[::1]:8787":             200,
		"health.internal:9000":   200,
		"foundry.example:80":     403,
		"foundry.example:8443":   403,
		"foundry.example.":       403,
		"127.0.0.1":              403,
		"127.0.0.1:80":           403,
		"localhost:8787":         403,
		"evil.example":           403,
		"foundry.example.evil.x": 403,
		"":                       403,
		"health.internal":        403,
	} {
		r := httptest.NewRequest("GET", "/anything", nil)
		r.Host = host
		r.Header.Set("X-Forwarded-Host", "foundry.example") // nobody's word
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %q = %d, want %d", host, w.Code, want)
		}
		if w.Code == 403 && (w.Header().Get("Content-Type") != "application/json" || !strings.HasPrefix(w.Body.String(), `{"error":{"code":"host_not_allowed"`)) {
			t.Errorf("Host %q is refused with %s %q, want JSON", host, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

func TestOnlyConfiguredOriginsAreServed(t *testing.T) {
	s := site(t, SiteConfig{PublicURLs: []string{"http://127.0.0.1:8787", "https://foundry.example"}, Origins: []string{"http://localhost:6274"}})
	h := s.OnlyOurOrigins(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for _, c := range []struct {
		origin []string
		want   int
	}{
		{nil, 200},
		{[]string{"http://127.0.0.1:8787"}, 200},
		{[]string{"https://foundry.example"}, 200},
		{[]string{"http://localhost:6274"}, 200},
		{[]string{"https://evil.example"}, 403},
		{[]string{"null"}, 403},
		{[]string{""}, 403},
		{[]string{"http://127.0.0.1:8788"}, 403},
		{[]string{"http://127.0.0.1"}, 403},
		{[]string{"https://127.0.0.1:8787"}, 403},
		{[]string{"http://127.0.0.1.evil.example"}, 403},
		{[]string{"http://127.0.0.1:8787.evil.example"}, 403},
		{[]string{"https://foundry.example:8443"}, 403},
		{[]string{"http://foundry.example"}, 403},
		{[]string{"chrome-extension://x"}, 403},
		{[]string{"https://foundry.example", "https://evil.example"}, 403},
		{[]string{"https://foundry.example https://evil.example"}, 403},
	} {
		r := httptest.NewRequest("POST", "/mcp", nil)
		if c.origin != nil {
			r.Header["Origin"] = c.origin
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("Origin %q = %d, want %d", c.origin, w.Code, c.want)
		}
	}
}

func TestAbsoluteURLsComeFromTheConfiguration(t *testing.T) {
	s := site(t, SiteConfig{
		PublicURLs: []string{"https://foundry.example", "http://lan.example:8787"},
		Hosts:      []string{"10.0.0.5:8787"},
		Proxies:    []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")},
	})
	for _, c := range []struct{ peer, host, forwarded, want string }{
		{"198.51.100.1:9", "foundry.example", "", "https://foundry.example"},
		{"198.51.100.1:9", "lan.example:8787", "", "http://lan.example:8787"},
		{"198.51.100.1:9", "10.0.0.5:8787", "", "https://foundry.example"},
		{"198.51.100.1:9", "evil.example", "", "https://foundry.example"},
		{"198.51.100.1:9", "foundry.example", "lan.example:8787", "https://foundry.example"},
		{"10.0.0.9:9", "10.0.0.5:8787", "lan.example:8787", "http://lan.example:8787"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = c.peer, c.host
		r.Header.Set("X-Forwarded-Proto", "http")
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-Host", c.forwarded)
		}
		if got := s.Origin(r); got != c.want {
			t.Errorf("Origin of %+v = %s, want %s", c, got, c.want)
		}
	}
	if s.Canonical() != "https://foundry.example" || !s.Secure() {
		t.Errorf("Canonical = %s, Secure = %v", s.Canonical(), s.Secure())
	}
}

func TestForwardedHostOfATrustedProxyIsHeldToTheList(t *testing.T) {
	s := site(t, SiteConfig{PublicURLs: []string{"https://foundry.example"}, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}})
	for _, c := range []struct {
		forwarded []string
		want      bool
	}{
		{nil, true}, // then Host counts
		{[]string{"foundry.example"}, true},
		{[]string{"evil.example"}, false},
		{[]string{"foundry.example", "evil.example"}, false},
		{[]string{"foundry.example, evil.example"}, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = "10.0.0.9:9", "foundry.example"
		if c.forwarded != nil {
			r.Header["X-Forwarded-Host"] = c.forwarded
		}
		if got := s.HostAllowed(r); got != c.want {
			t.Errorf("HostAllowed with X-Forwarded-Host %q = %v, want %v", c.forwarded, got, c.want)
		}
	}
}

func TestClientAddressBelievesOnlyConfiguredProxies(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name    string
		proxies []netip.Prefix
		peer    string
		hops    []string
		want    string
	}{
		{"no proxy configured", nil, "10.0.0.1:5", []string{"203.0.113.9"}, "10.0.0.1"},
		{"peer is not the proxy", proxies, "198.51.100.7:5", []string{"203.0.113.9"}, "198.51.100.7"},
		{"peer is the proxy", proxies, "10.0.0.1:5", []string{"203.0.113.9"}, "203.0.113.9"},
		{"client made up entries", proxies, "10.0.0.1:5", []string{"127.0.0.1, 203.0.113.9"}, "203.0.113.9"},
		{"two lines", proxies, "10.0.0.1:5", []string{"127.0.0.1", "203.0.113.9"}, "203.0.113.9"},
		{"two proxies", proxies, "10.0.0.1:5", []string{"1.1.1.1, 203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"with port", proxies, "10.0.0.1:5", []string{"203.0.113.9:1234"}, "203.0.113.9"},
		{"IPv6", proxies, "[fd00::1]:5", []string{"[2001:db8::9]:1234"}, "2001:db8::9"},
		{"mapped peer", proxies, "[::ffff:10.0.0.1]:5", []string{"203.0.113.9"}, "203.0.113.9"},
		{"garbage", proxies, "10.0.0.1:5", []string{"203.0.113.9, unknown"}, "10.0.0.1"},
		{"none", proxies, "10.0.0.1:5", nil, "10.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := site(t, SiteConfig{PublicURLs: []string{"https://foundry.example"}, Proxies: c.proxies})
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.peer
			if c.hops != nil {
				r.Header["X-Forwarded-For"] = c.hops
			}
			if got := s.ClientAddress(r).String(); got != c.want {
				t.Errorf("ClientAddress = %s, want %s", got, c.want)
			}
		})
	}
}

func TestSiteRefusesMistakesInTheConfiguration(t *testing.T) {
	ok := []string{"https://foundry.example"}
	for _, c := range []SiteConfig{
		{},
		{PublicURLs: []string{""}},
		{PublicURLs: []string{"foundry.example"}},
		{PublicURLs: []string{"ftp://foundry.example"}},
		{PublicURLs: []string{"https://"}},
		{PublicURLs: []string{"https://foundry.example/path"}},
		{PublicURLs: []string{"https://foundry.example?a=b"}},
		{PublicURLs: []string{"https://foundry.example#f"}},
		{PublicURLs: []string{"https://user@foundry.example"}},
		{PublicURLs: ok, Hosts: []string{"https://x.example"}},
		{PublicURLs: ok, Hosts: []string{"*"}},
		{PublicURLs: ok, Origins: []string{"*"}},
		{PublicURLs: ok, Origins: []string{"null"}},
	} {
		if _, err := NewSite(c); err == nil {
			t.Errorf("NewSite(%+v) = nil error, want one", c)
		}
	}
}

func TestAddressKeyJoinsANetworkOfOnePerson(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.9":             "203.0.113.9",
		"2001:db8:1:2:3:4:5:6":    "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff:4:5:6": "2001:db8:1:2::/64",
	} {
		if got := AddressKey(netip.MustParseAddr(address)); got != want {
			t.Errorf("AddressKey(%s) = %s, want %s", address, got, want)
		}
	}
	if got := AddressKey(netip.Addr{}); got == "" {
		t.Error("AddressKey of no address is empty")
	}
}
