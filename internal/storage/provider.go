package storage

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Providers implements workspace.ProviderStore, and Figures workspace.FiguresStore.
type (
	Providers struct{}
	Figures   struct{}
)

var (
	_ workspace.ProviderStore = Providers{}
	_ workspace.FiguresStore  = Figures{}
)

// Provider is workspace.ProviderStore.Provider.
func (Providers) Provider(ctx context.Context, tx access.Tx, workspaceID, name string) (workspace.Provider, bool, error) {
	r, err := on(tx).Provider(ctx, workspaceID, name)
	if found, err := foundRow(err, "read provider"); !found {
		return workspace.Provider{}, false, err
	}
	p, err := providerOf(gen.ProvidersRow(r))
	return p, err == nil, err
}

// Providers is workspace.ProviderStore.Providers.
func (Providers) Providers(ctx context.Context, tx access.Tx, workspaceID string, page workspace.Page) ([]workspace.Provider, error) {
	rows, err := on(tx).Providers(ctx, workspaceID, page.After, int32(page.Limit))
	if err != nil {
		return nil, fmt.Errorf("list providers: %w", err)
	}
	providers := make([]workspace.Provider, len(rows))
	for i, r := range rows {
		if providers[i], err = providerOf(r); err != nil {
			return nil, err
		}
	}
	return providers, nil
}

func providerOf(r gen.ProvidersRow) (workspace.Provider, error) {
	p := workspace.Provider{
		WorkspaceID: r.WorkspaceID, Name: r.Name, Kind: workspace.ProviderKind(r.Kind), BaseURL: r.BaseUrl, Model: r.Model, HasKey: r.HasKey != 0,
		Version: r.Version, CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt), UpdatedBy: r.UpdatedBy,
	}
	if err := json.Unmarshal([]byte(r.Command), &p.Command); err != nil {
		return workspace.Provider{}, fmt.Errorf("read command of provider: %w", err)
	}
	return p, nil
}

// SealedKey is workspace.ProviderStore.SealedKey.
func (Providers) SealedKey(ctx context.Context, tx access.Tx, workspaceID, name string) (string, error) {
	return on(tx).ProviderSecret(ctx, workspaceID, name)
}

// PutProvider is workspace.ProviderStore.PutProvider.
func (Providers) PutProvider(ctx context.Context, tx access.Tx, p workspace.Provider, sealed string) error {
	command, err := json.Marshal(p.Command)
	if err != nil {
		return fmt.Errorf("write command of provider: %w", err)
	}
	return on(tx).PutProvider(ctx, gen.PutProviderParams{
		WorkspaceID: p.WorkspaceID, Name: p.Name, Kind: string(p.Kind), BaseUrl: p.BaseURL, Model: p.Model, Secret: sealed, Command: string(command),
		Version: p.Version, CreatedAt: msOf(p.CreatedAt), UpdatedAt: msOf(p.UpdatedAt), UpdatedBy: p.UpdatedBy,
	})
}

// DeleteProvider is workspace.ProviderStore.DeleteProvider.
func (Providers) DeleteProvider(ctx context.Context, tx access.Tx, workspaceID, name string) (bool, error) {
	n, err := on(tx).DeleteProvider(ctx, workspaceID, name)
	return n == 1, err
}

// Figures is workspace.FiguresStore.Figures.
func (Figures) Figures(ctx context.Context, tx access.Tx, workspaceID string) (workspace.Figures, error) {
	r, err := on(tx).Figures(ctx, workspaceID)
	if found, err := foundRow(err, "read figures of workspace"); !found {
		return workspace.Figures{}, err
	}
	return workspace.Figures{
		HandoffMinutes: r.HandoffMinutes, Budget: workspace.Budget{Rounds: r.DayRounds, Tokens: r.DayTokens, Minutes: r.DayMinutes},
	}, nil
}

// PutFigures is workspace.FiguresStore.PutFigures.
func (Figures) PutFigures(ctx context.Context, tx access.Tx, workspaceID string, f workspace.Figures) error {
	return on(tx).PutFigures(ctx, gen.PutFiguresParams{
		WorkspaceID: workspaceID, HandoffMinutes: f.HandoffMinutes, DayRounds: f.Budget.Rounds, DayTokens: f.Budget.Tokens, DayMinutes: f.Budget.Minutes,
	})
}
