package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/api"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/mcp"
	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/tool"
	"github.com/osfoundry/osfoundry/internal/web"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Figures of the doors. Each counts failures only.
const (
	triesOfSignIn = 10 // by account and by address, within triesWindow
	triesOfSetup  = 10 // by address
	triesWindow   = 5 * time.Minute
	failuresOAuth = 600 // a minute, by address: many people share the address of a hosted assistant
	documentsRate = 5   // Client ID Metadata Documents fetched in a minute for one address
)

// Parts are the rooms' services, as New made them.
type Parts struct {
	Site        *guard.Site
	Events      *workspace.Events
	Accounts    *workspace.Accounts
	Members     *workspace.Members
	Projects    *workspace.Projects
	Notes       *workspace.Notes
	ACLs        *workspace.ACLs
	Connections *workspace.Connections
	Resources   *workspace.Resources
	AuditLog    *workspace.AuditLog

	AgentSessions *workspace.Sessions
	Seats         *workspace.Seats
	Handoffs      *workspace.Handoffs
	Tasks         *workspace.Tasks
	Rounds        *workspace.Rounds
	Mails         *workspace.Mails
	Notices       *workspace.Notices
	Providers     *workspace.Providers
	Figures       *workspace.WorkspaceFigures
	Queue         *queue.Queue

	Sessions  *api.Sessions
	Documents oauth.Fetcher // nil: Client ID Metadata Documents are off
	Secret    []byte        // of this installation
}

// wire makes the services and puts them behind their addresses.
func (a *App) wire(ctx context.Context, o Options) (http.Handler, error) {
	p, err := a.parts(ctx)
	if err != nil {
		return nil, err
	}
	cursors, err := tool.NewCursors(p.Secret, a.now)
	if err != nil {
		return nil, err
	}
	// What agents can do is what is here before there are sessions.
	tools := slices.Concat(tool.Resources(p.Resources, cursors), tool.Search(p.Resources, cursors, a.URL()), tool.Notes(p.Notes, cursors))
	if err := a.sessionParts(ctx, p, tools); err != nil {
		return nil, err
	}
	if o.Tune != nil {
		o.Tune(p)
	}
	mux := http.NewServeMux()
	pages, err := a.pages(p)
	if err != nil {
		return nil, err
	}
	server, err := a.authorization(p, pages)
	if err != nil {
		return nil, err
	}
	pages.Requests = server
	tools = slices.Concat(tools, tool.Sessions(p.AgentSessions, p.Handoffs, cursors), tool.Tasks(p.Tasks, cursors), tool.Mail(p.Mails))
	gate, err := a.mountEndpoint(mux, p, o.Version, tools)
	if err != nil {
		return nil, err
	}
	worker, err := a.runner(p, gate)
	if err != nil {
		return nil, err
	}
	a.work = func(ctx context.Context) error { return p.Queue.Start(ctx, worker) }
	owner, err := a.ownerAPI(p, o.Version)
	if err != nil {
		return nil, err
	}
	pages.Owner = owner
	server.Mount(mux)
	mux.Handle("/api/", owner)
	a.health(mux)
	pages.Mount(mux)
	a.every("clean-up of OAuth", time.Hour, server.Purge)
	a.every("clean-up", time.Hour, func(ctx context.Context) error {
		_, err := a.db.Purge(ctx, a.now())
		return err
	})
	if secret, err := p.Accounts.SetupSecret(ctx); err != nil {
		return nil, fmt.Errorf("make the setup secret: %w", err)
	} else if secret != "" {
		a.setupURL = a.URL() + "/setup?secret=" + secret
	}
	return p.Site.SecureHeaders(p.Site.OnlyOurHosts(mux)), nil
}

// parts makes the services that several rooms share.
func (a *App) parts(ctx context.Context) (p *Parts, err error) {
	p = &Parts{}
	p.Site, err = guard.NewSite(guard.SiteConfig{
		PublicURLs: a.public, Hosts: a.config.AllowedHosts, Origins: a.config.AllowedOrigins, Proxies: a.config.TrustedProxies,
	})
	if err != nil {
		return nil, err
	}
	if p.Secret, err = a.secret(ctx); err != nil {
		return nil, err
	}
	p.AuditLog = workspace.NewAuditLog(a.db, storage.Audit{}, a.log)
	a.onStop("audit", func(context.Context) error { return p.AuditLog.Stop() })
	p.Events = workspace.NewEvents(storage.Events{}, a.now)
	p.Accounts, err = workspace.NewAccounts(workspace.AccountConfig{
		SessionIdle: a.config.SessionIdle, SessionLife: a.config.SessionLife,
		SignIns: guard.Per(triesOfSignIn, triesWindow, a.now), Setups: guard.Per(triesOfSetup, triesWindow, a.now),
	}, a.db, storage.Accounts{}, storage.Audit{}, a.now)
	if err != nil {
		return nil, err
	}
	p.Members = workspace.NewMembers(storage.Members{}, p.Accounts, p.Events, a.now)
	p.Projects = workspace.NewProjects(storage.Projects{}, p.Events, a.now)
	p.Notes = workspace.NewNotes(storage.Notes{}, storage.Search{}, p.Events, a.now, a.URL())
	p.ACLs = workspace.NewACLs(storage.ACLs{}, p.Events)
	p.Connections = workspace.NewConnections(storage.Connections{}, p.Events, a.now)
	p.Resources = workspace.NewResources(storage.Resources{}, storage.Search{}, storage.Changes{})
	p.Sessions, err = api.NewSessions(p.Accounts, p.Site, p.Secret, oauth.FormTokenField, a.now)
	if a.config.DocumentsEnabled(a.URL()) {
		p.Documents = guard.NewClient(guard.ClientConfig{Timeout: 3 * time.Second, MaxBody: 5 << 10})
	}
	return p, err
}

// secretBytes is the length of the installation's secret.
const secretBytes = 32

// secret is the installation's own, made at the first start and shared by all
// servers of one database.
func (a *App) secret(ctx context.Context) (secret []byte, err error) {
	fresh := make([]byte, secretBytes)
	rand.Read(fresh)
	var kept string
	err = a.db.Write(ctx, func(tx access.Tx) (err error) {
		kept, err = storage.Settings{}.KeepSetting(ctx, tx, "installation_secret", base64.RawStdEncoding.EncodeToString(fresh))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the installation's secret: %w", err)
	}
	if secret, err = base64.RawStdEncoding.DecodeString(kept); err != nil || len(secret) != secretBytes {
		return nil, fmt.Errorf("the installation's secret in the database is damaged")
	}
	return secret, nil
}

func (a *App) pages(p *Parts) (*web.Site, error) {
	return web.New(web.Config{
		Site: p.Site, Accounts: p.Accounts, Members: p.Members, Sessions: p.Sessions, Start: start{a.db, a.db, p},
		Now: a.now, Log: a.log,
	})
}

func (a *App) authorization(p *Parts, pages oauth.Pages) (*oauth.Server, error) {
	f := oauth.DefaultFigures()
	f.AccessLife, f.RefreshLife, f.FamilyLife = a.config.AccessTokenLife, a.config.RefreshTokenLife, a.config.ConnectionLife
	f.RetryWindow = a.config.RefreshRetry
	f.UnusedOfAll, f.UnusedOfOne = int64(a.config.UnusedClients), int64(a.config.UnusedPerAddress)
	c := oauth.Config{
		Site: p.Site, Work: a.db, Source: a.db, Store: storage.OAuth{}, Connections: p.Connections, Events: p.Events,
		Audit: storage.Audit{}, People: p.Sessions, Pages: pages, Figures: f, Documents: p.Documents, Now: a.now, Log: a.log,
	}
	if a.config.RateLimits == "on" {
		c.Failures, c.Fetches = guard.PerMinute(failuresOAuth, a.now), guard.PerMinute(documentsRate, a.now)
	}
	return oauth.New(c)
}

// mountEndpoint puts the one gate behind the two mounts.
func (a *App) mountEndpoint(mux *http.ServeMux, p *Parts, version string, tools []*tool.Tool) (*tool.Catalogue, error) {
	limits := tool.Limits{
		Reads: a.config.ReadsPerMinute, Writes: a.config.WritesPerMinute, RunRequests: a.config.RunRequestsPerMinute,
		QueuedTasks: a.config.QueuedTasks, PendingHandoffs: a.config.PendingHandoffs,
		BodyBytes: tool.DefaultLimits.BodyBytes, ResultChars: tool.DefaultLimits.ResultChars,
	}
	var badTokens *guard.Limiter
	if a.config.RateLimits == "on" {
		badTokens = guard.PerMinute(a.config.BadTokensPerMinute, a.now)
	} else {
		limits = limits.WithoutRates()
	}
	gate, err := tool.NewCatalogue(tool.Config{
		Work: a.db, Source: a.db, Audit: storage.Audit{}, Reads: p.AuditLog, Replays: storage.Replays{},
		Limits: tool.NewLimiter(limits, a.now), Now: a.now, Log: a.log,
	}, slices.Concat(tool.Connection(p.Resources, limits), tools)...)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{oauth.MountSignIn, oauth.MountPublic} {
		h, err := mcp.New(mcp.Config{
			Site: p.Site, Path: path, PublicCatalogue: path == oauth.MountPublic, Version: version,
			BadTokens: badTokens, OpenAIStatusOK: a.config.OpenaiStatusOK, Log: a.log,
		}, gate)
		if err != nil {
			return nil, err
		}
		mux.Handle(path, h)
		mux.Handle(path+"/", h)
	}
	return gate, nil
}

func (a *App) ownerAPI(p *Parts, version string) (*api.API, error) {
	c := api.Config{
		Work: a.db, Source: a.db, Audit: storage.Audit{}, Replays: storage.Replays{}, Site: p.Site, Sessions: p.Sessions,
		Secret: p.Secret, Version: version, Now: a.now, Log: a.log,
	}
	return api.New(c,
		api.AccountRoutes(p.Accounts, p.Members, p.Sessions, p.Site, a.db), api.WorkspaceRoutes(p.Accounts, p.Members),
		api.ProjectRoutes(p.Projects), api.NoteRoutes(p.Notes, p.ACLs), api.ACLRoutes(p.ACLs), api.ConnectionRoutes(p.Connections),
		api.AuditRoutes(storage.Audit{}, p.AuditLog), api.EventRoutes(storage.Events{}, p.Events, p.Members, c),
		api.AgentSessionRoutes(p.AgentSessions, p.ACLs), api.SeatRoutes(p.Seats), api.HandoffRoutes(p.Handoffs), api.NoticeRoutes(p.Notices),
		api.ProviderRoutes(p.Providers, p.Figures), api.TaskRoutes(p.Tasks), api.MailRoutes(p.Mails),
	)
}

// start tells the first page what the person has.
type start struct {
	work   access.Work
	source access.Source
	parts  *Parts
}

// placesShown and connectionsShown bound the first page.
const (
	placesShown      = 50
	connectionsShown = 100
)

// Places is web.Start.Places.
func (s start) Places(ctx context.Context, who access.Principal) (places []web.Place, err error) {
	err = s.work.Read(ctx, func(tx access.Tx) error {
		places = nil
		teams, err := s.parts.Members.Teams(ctx, tx, who, workspace.Page{Limit: placesShown})
		if err != nil {
			return err
		}
		for _, t := range teams.Items {
			place, err := s.place(ctx, tx, who, t)
			if err != nil {
				return err
			}
			places = append(places, place)
		}
		return nil
	})
	return places, err
}

func (s start) place(ctx context.Context, tx access.Tx, who access.Principal, t workspace.Team) (web.Place, error) {
	ref := access.Ref{Kind: access.KindWorkspace, ID: t.ID}
	facts, err := s.source.PersonFacts(ctx, tx, who.UserID, ref)
	if err != nil {
		return web.Place{}, err
	}
	permit, err := access.CheckPerson(facts, who, access.Permission{Right: access.RightView}, ref)
	if err != nil {
		return web.Place{}, err
	}
	newest, err := s.newest(ctx, tx, permit)
	return web.Place{Name: t.Name, Role: t.Role, Connections: newest}, err
}

// newest lists the workspace's newest connections, newest first. The list of the
// workspace begins with the oldest.
func (s start) newest(ctx context.Context, tx access.Tx, permit access.Permit) (all []workspace.Connection, err error) {
	page := workspace.Page{Limit: connectionsShown}
	for {
		l, err := s.parts.Connections.List(ctx, tx, permit, page)
		if err != nil {
			return nil, err
		}
		all = append(all, l.Items...)
		all = all[max(0, len(all)-connectionsShown):]
		if page.After = l.Next; page.After == "" {
			slices.Reverse(all)
			return all, nil
		}
	}
}
