package openai_test

import (
	"net/http"
	"testing"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
	"github.com/osfoundry/osfoundry/internal/agent/provider/openai"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Model{
		Protocol: providertest.OpenAI,
		New: func(t testing.TB, base string, key exchange.Key, client *http.Client, l exchange.Limits) agent.Provider {
			p, err := openai.New(openai.Config{BaseURL: base, Key: key, Client: client, Limits: l})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
	}.Suite(t)
}
