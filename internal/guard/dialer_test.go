package guard

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestGlobalAllowsOnlyPublicUnicast(t *testing.T) {
	for _, s := range []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.1", "169.253.0.1", "192.167.1.1",
		"2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "2001:200::1", "2003::1", "2620:fe::fe", "2c0f::1",
	} {
		if !Global(netip.MustParseAddr(s)) {
			t.Errorf("Global(%s) = false, want true", s)
		}
	}
	for _, s := range []string{
		"0.0.0.0", "0.0.0.1", "0.255.255.255", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.1.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808",
		"64:ff9b:1::1", "100::1", "100:0:0:1::1", "2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:30::1", "2001:1ff::1",
		"2001:db8::1", "2002:7f00:1::1", "2002:808:808::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "8000::1", "fc00::1", "fd00:ec2::254",
		"fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "2606:4700::1%eth0",
	} {
		if Global(netip.MustParseAddr(s)) {
			t.Errorf("Global(%s) = true, want false", s)
		}
	}
	if Global(netip.Addr{}) {
		t.Error("Global of no address = true, want false")
	}
}

// names is a resolver of one answer for every name; it counts the questions.
type names struct {
	addresses []netip.Addr
	asked     atomic.Int64
}

func (n *names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	n.asked.Add(1)
	return n.addresses, nil
}

func resolveTo(addresses ...string) *names {
	n := &names{}
	for _, a := range addresses {
		n.addresses = append(n.addresses, netip.MustParseAddr(a))
	}
	return n
}

// publicHost stands in for a host on the internet: its name resolves to
// loopback, which is allowed for the test.
func publicHost(t *testing.T, h http.HandlerFunc) (*httptest.Server, ClientConfig, string) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := ClientConfig{Resolver: resolveTo("127.0.0.1"), Roots: roots, Allowed: func(a netip.Addr) bool { return a.IsLoopback() }}
	return server, c, "https://example.com:" + port // the name in httptest's certificate
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, string, error) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		return nil, "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return r, string(body), err
}

func TestClientFetchesFromAPublicHost(t *testing.T) {
	_, c, url := publicHost(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.Host) })
	c.MaxBody = int64(len("hello ")) + int64(len(strings.TrimPrefix(url, "https://")))
	r, body, err := get(t, NewClient(c), url)
	if err != nil || r.StatusCode != 200 || body != "hello "+strings.TrimPrefix(url, "https://") {
		t.Errorf("Get = %q, %v, want the host's answer", body, err)
	}
	if n := c.Resolver.(*names).asked.Load(); n != 1 {
		t.Errorf("the name was looked up %d times, want once", n)
	}
}

func TestClientNeverConnectsToSpecialAddresses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var contacted atomic.Bool
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			contacted.Store(true)
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, answer := range [][]string{
		{"127.0.0.1"},
		{"::ffff:127.0.0.1"},
		{"::1"},
		{"169.254.169.254"},
		{"93.184.216.34", "127.0.0.1"}, // every answer must be public
		{"127.0.0.1", "93.184.216.34"},
		{},
	} {
		client := NewClient(ClientConfig{Resolver: resolveTo(answer...)})
		if _, _, err := get(t, client, "https://rebind.example:"+port+"/"); err == nil {
			t.Errorf("a name with the addresses %v was fetched", answer)
		}
	}
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1%25lo]", "localhost"} {
		if _, _, err := get(t, NewClient(ClientConfig{}), "https://"+host+":"+port+"/"); err == nil {
			t.Errorf("%s was fetched", host)
		}
	}
	if contacted.Load() {
		t.Error("a special address was contacted")
	}
}

func TestClientRefusesANameWithOneSpecialAddress(t *testing.T) {
	_, c, url := publicHost(t, func(http.ResponseWriter, *http.Request) { t.Error("a name with a special address was contacted") })
	c.Allowed = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }
	for _, addresses := range [][]string{{"127.0.0.1", "127.0.0.2"}, {"127.0.0.2", "127.0.0.1"}, {"127.0.0.1", "::1"}} {
		c.Resolver = resolveTo(addresses...)
		if _, _, err := get(t, NewClient(c), url); err == nil {
			t.Errorf("a name with the addresses %v was fetched", addresses)
		}
	}
}

func TestDialerJudgesTheAddressTheKernelIsTold(t *testing.T) {
	control := judge(Global)
	for address, want := range map[string]bool{"8.8.8.8:443": true, "127.0.0.1:443": false, "[::1]:443": false, "x": false} {
		if err := control("tcp", address, nil); (err == nil) != want {
			t.Errorf("control(%s) = %v, want allowed %v", address, err, want)
		}
	}
}

func TestClientSpeaksHTTPSOnly(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("contacted") }))
	defer plain.Close()
	c := NewClient(ClientConfig{Allowed: func(netip.Addr) bool { return true }})
	for _, url := range []string{plain.URL, "ftp://example.com/", "file:///etc/hostname", "gopher://example.com/", "https://user:pass@example.com/", "https:///x"} {
		if _, _, err := get(t, c, url); err == nil {
			t.Errorf("%s was fetched", url)
		}
	}
}

func TestClientVerifiesCertificates(t *testing.T) {
	_, c, url := publicHost(t, func(w http.ResponseWriter, _ *http.Request) { t.Error("answered an unverified client") })
	c.Roots = x509.NewCertPool()
	if _, _, err := get(t, NewClient(c), url); err == nil {
		t.Error("a certificate of an unknown authority was accepted")
	}
}

func TestClientVerifiesTheNameInTheCertificate(t *testing.T) {
	_, c, url := publicHost(t, func(w http.ResponseWriter, _ *http.Request) { t.Error("answered under another name") })
	if _, _, err := get(t, NewClient(c), strings.Replace(url, "example.com", "other.test", 1)); err == nil {
		t.Error("a certificate of another name was accepted")
	}
}

func TestClientDoesNotFollowRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var hits atomic.Int64
		_, c, url := publicHost(t, func(w http.ResponseWriter, r *http.Request) {
			hits.Add(1)
			http.Redirect(w, r, "/elsewhere", status)
		})
		r, _, err := get(t, NewClient(c), url)
		if err != nil || r.StatusCode != status || hits.Load() != 1 {
			t.Errorf("status %d: %v after %d requests, want it handed back after one", status, err, hits.Load())
		}
	}
}

func TestClientEndsAtTheLimitOfTheBody(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5121")
			io.WriteString(w, strings.Repeat("a", 5121))
		},
		"streamed": func(w http.ResponseWriter, _ *http.Request) {
			for range 5121 {
				io.WriteString(w, "a")
			}
			w.(http.Flusher).Flush()
		},
	} {
		_, c, url := publicHost(t, h)
		_, body, err := get(t, NewClient(c), url)
		if !errors.Is(err, ErrTooLarge) || len(body) > 5120 {
			t.Errorf("%s: %d bytes and %v, want the limit's error", name, len(body), err)
		}
	}
	_, c, url := publicHost(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("a", 5120)) })
	if _, body, err := get(t, NewClient(c), url); err != nil || len(body) != 5120 {
		t.Errorf("at the limit: %d bytes and %v, want all", len(body), err)
	}
}

func TestClientEndsInTime(t *testing.T) {
	_, c, url := publicHost(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush() // the answer begins, and never ends
		<-r.Context().Done()
	})
	c.Timeout = 50 * time.Millisecond
	start := time.Now()
	_, _, err := get(t, NewClient(c), url)
	if err == nil || time.Since(start) > 10*time.Second {
		t.Errorf("an endless answer ended with %v after %v", err, time.Since(start))
	}
}

func TestClientUsesNoProxyOfTheEnvironment(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was used") }))
	defer proxy.Close()
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("https_proxy", proxy.URL)
	_, c, url := publicHost(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "direct") })
	client := NewClient(c)
	if _, body, err := get(t, client, url); err != nil || body != "direct" {
		t.Errorf("Get = %q, %v, want a direct answer", body, err)
	}
	// net/http reads the environment once in a process, so the setting itself is looked at too.
	if client.Transport.(*guarded).transport.Proxy != nil {
		t.Error("the transport has a proxy function")
	}
}
