package guard

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// plainHost serves http on loopback and answers with the Host it was asked for. It
// returns its port.
func plainHost(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestListedHostsMayBePrivateAndSpeakPlainHTTP(t *testing.T) {
	port := plainHost(t)
	for listed, url := range map[string]string{
		"127.0.0.1:" + port:  "http://127.0.0.1:" + port + "/v1",
		"models.lan:" + port: "http://models.lan:" + port + "/v1",
		"Models.LAN:" + port: "http://models.lan:" + port + "/v1",
	} {
		client := NewClient(ClientConfig{AllowHosts: []string{listed}, Resolver: resolveTo("127.0.0.1")})
		_, body, err := get(t, client, url)
		if want := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1"); err != nil || body != want {
			t.Errorf("Get(%s) = %q, %v, want %q", url, body, err, want)
		}
	}
}

func TestHostsAreListedExactly(t *testing.T) {
	port := plainHost(t)
	for _, listed := range [][]string{
		nil,
		{"models.lan"},
		{"models.lan:1"},
		{"other.lan:" + port},
		{"*.lan:" + port},
		{"lan:" + port},
		{"127.0.0.1:" + port}, // the address is listed, the name is not
		{"http://models.lan:" + port},
	} {
		client := NewClient(ClientConfig{AllowHosts: listed, Resolver: resolveTo("127.0.0.1")})
		for _, scheme := range []string{"http", "https"} {
			_, _, err := get(t, client, scheme+"://models.lan:"+port)
			if !errors.Is(err, ErrNotAllowed) {
				t.Errorf("%s with %q listed: got %v, want ErrNotAllowed", scheme, listed, err)
			}
		}
	}
}

func TestListedHostsMayNotHaveLinkLocalAddresses(t *testing.T) {
	for _, a := range []string{"169.254.169.254", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "::ffff:127.0.0.1", "192.0.2.1", "ff02::1", "255.255.255.255"} {
		client := NewClient(ClientConfig{AllowHosts: []string{"models.lan:80"}, Resolver: resolveTo("10.0.0.1", a)})
		if _, _, err := get(t, client, "http://models.lan/"); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("a listed name with the address %s: got %v, want ErrNotAllowed", a, err)
		}
	}
	for _, a := range []string{"10.1.2.3", "172.17.0.1", "192.168.1.4", "127.0.0.1", "100.100.1.1", "fd00::4", "::1"} {
		if !own(netip.MustParseAddr(a)) {
			t.Errorf("own(%s) = false, want true", a)
		}
	}
}

func TestListingOneHostOpensNoOther(t *testing.T) {
	port := plainHost(t)
	client := NewClient(ClientConfig{AllowHosts: []string{"127.0.0.1:" + port}})
	for _, url := range []string{"http://localhost:" + port, "http://[::1]:" + port, "http://127.0.0.2:" + port, "http://user:key@127.0.0.1:" + port, "ftp://127.0.0.1:" + port} {
		if _, _, err := get(t, client, url); err == nil {
			t.Errorf("%s was fetched", url)
		}
	}
}
