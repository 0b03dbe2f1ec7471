package anthropic_test

import (
	"net/http"
	"testing"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/anthropic"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Model{
		Protocol: providertest.Anthropic,
		New: func(t testing.TB, base string, key exchange.Key, client *http.Client, l exchange.Limits) agent.Provider {
			p, err := anthropic.New(anthropic.Config{BaseURL: base, Key: key, Client: client, Limits: l})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	}.Suite(t)
}
