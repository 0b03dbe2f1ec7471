package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// provider is where agents get their turns from. Its key is never answered.
type provider struct {
	Name      string                 `json:"name"`
	Kind      workspace.ProviderKind `json:"kind"`
	BaseURL   string                 `json:"base_url,omitzero"`
	Model     string                 `json:"model,omitzero"`
	Command   []string               `json:"command,omitzero"`
	HasKey    bool                   `json:"has_key"`
	Version   int64                  `json:"version"`
	UpdatedAt time.Time              `json:"updated_at"`
}

func providerOf(p workspace.Provider) provider {
	return provider{
		Name: p.Name, Kind: p.Kind, BaseURL: p.BaseURL, Model: p.Model, Command: p.Command, HasKey: p.HasKey, Version: p.Version, UpdatedAt: p.UpdatedAt,
	}
}

type providerBody struct {
	Kind    string   `json:"kind"` // openai, anthropic or command
	BaseURL string   `json:"base_url,omitzero"`
	Model   string   `json:"model,omitzero"`
	Key     *string  `json:"key,omitzero"` // left out: the one that is there stays
	Command []string `json:"command,omitzero"`
}

// figures are a workspace's settings of the agent runtime.
type figures struct {
	HandoffMinutes int64  `json:"handoff_minutes"` // a handoff that nobody decides is cancelled after so long; 0: never
	Budget         budget `json:"budget"`          // of all sessions together
}

type figuresChange struct {
	HandoffMinutes *int64  `json:"handoff_minutes,omitzero"`
	Budget         *budget `json:"budget,omitzero"`
}

type providerCalls struct {
	providers *workspace.Providers
	figures   *workspace.WorkspaceFigures
}

// ProviderRoutes are what the agents of a workspace work with, and its figures.
func ProviderRoutes(providers *workspace.Providers, figures *workspace.WorkspaceFigures) []Route {
	s := providerCalls{providers, figures}
	const path, ofFigures = "/api/v1/workspaces/{workspace}/providers", "/api/v1/workspaces/{workspace}/figures"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "provider.list", Summary: "The configured providers, without their keys",
			Kind: access.KindWorkspace, Right: access.RightManage, Paged: true}, s.list),
		Handle(Rule{Method: http.MethodGet, Path: path + "/{name}", Operation: "provider.get", Summary: "One provider, without its key",
			Kind: access.KindWorkspace, Right: access.RightManage}, s.get),
		Handle(Rule{Method: http.MethodPut, Path: path + "/{name}", Operation: "provider.put",
			Summary: "Configure a provider: a server that speaks the protocol of OpenAI or Anthropic, or a program on this server",
			Kind:    access.KindWorkspace, Right: access.RightManage}, s.put),
		Handle(Rule{Method: http.MethodDelete, Path: path + "/{name}", Operation: "provider.delete", Summary: "Remove a provider and its key",
			Kind: access.KindWorkspace, Right: access.RightManage}, s.delete),
		Handle(Rule{Method: http.MethodGet, Path: ofFigures, Operation: "figures.get", Summary: "What agents of the workspace may use, and how long handoffs wait",
			Kind: access.KindWorkspace, Right: access.RightView}, s.getFigures),
		Handle(Rule{Method: http.MethodPatch, Path: ofFigures, Operation: "figures.change", Summary: "Change what agents may use, or how long new handoffs wait",
			Kind: access.KindWorkspace, Right: access.RightManage}, s.changeFigures),
	}
}

func (s providerCalls) list(ctx context.Context, c *Call, _ Nothing) (List[provider], error) {
	l, err := s.providers.List(ctx, c.Tx, c.Permit, c.Page)
	return listOf(c, l, providerOf), err
}

func (s providerCalls) get(ctx context.Context, c *Call, _ Nothing) (provider, error) {
	p, err := s.providers.Get(ctx, c.Tx, c.Permit, c.Path("name"))
	return providerOf(p), err
}

// put takes the name as it was written, so that one that cannot be is refused and
// not replaced.
func (s providerCalls) put(ctx context.Context, c *Call, in providerBody) (provider, error) {
	c.Entry.Detail = map[string]any{"provider": c.Path("name")}
	p, err := s.providers.Put(ctx, c.Tx, c.Permit, workspace.NewProvider{
		Name: c.passage.r.PathValue("name"), Kind: workspace.ProviderKind(in.Kind), BaseURL: in.BaseURL, Model: in.Model, Command: in.Command, Key: in.Key,
	})
	return providerOf(p), err
}

func (s providerCalls) delete(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	c.Entry.Detail = map[string]any{"provider": c.Path("name")}
	return Nothing{}, s.providers.Delete(ctx, c.Tx, c.Permit, c.Path("name"))
}

func (s providerCalls) getFigures(ctx context.Context, c *Call, _ Nothing) (figures, error) {
	f, err := s.figures.Get(ctx, c.Tx, c.Permit)
	return figures{HandoffMinutes: f.HandoffMinutes, Budget: budget(f.Budget)}, err
}

func (s providerCalls) changeFigures(ctx context.Context, c *Call, in figuresChange) (figures, error) {
	f, err := s.figures.Change(ctx, c.Tx, c.Permit, workspace.FiguresChange{HandoffMinutes: in.HandoffMinutes, Budget: (*workspace.Budget)(in.Budget)})
	return figures{HandoffMinutes: f.HandoffMinutes, Budget: budget(f.Budget)}, err
}
