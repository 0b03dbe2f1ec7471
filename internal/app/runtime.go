package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/anthropic"
	"github.com/osfoundry/osfoundry/internal/agent/provider/command"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
	"github.com/osfoundry/osfoundry/internal/agent/provider/openai"
	"github.com/osfoundry/osfoundry/internal/agent/provider/rehearsal"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/tool"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// sealOfKeys names what the keys of providers are sealed for.
const sealOfKeys = "provider keys"

// sessionParts makes the services of sessions, whose agents can be given of these
// tools.
func (a *App) sessionParts(ctx context.Context, p *Parts, tools []*tool.Tool) (err error) {
	p.Queue, err = queue.New(ctx, queue.Config{Database: a.db, Store: storage.Jobs{}, Log: a.log, Workers: a.config.RoundsAtOnce})
	if err != nil {
		return err
	}
	a.onStop("queue", p.Queue.Stop)
	seal, err := guard.NewSeal(p.Secret, sealOfKeys)
	if err != nil {
		return err
	}
	rules := workspace.SessionRules{Programs: a.config.AgentPrograms}
	rules.Tools, rules.Reading = tool.AgentTools(tools...)
	p.Notices = workspace.NewNotices(storage.Notices{}, p.Events, a.now)
	p.Providers = workspace.NewProviders(storage.Providers{}, seal, p.Events, a.config.AgentPrograms, a.now)
	p.Figures = workspace.NewWorkspaceFigures(storage.Figures{}, p.Events)
	p.AgentSessions = workspace.NewSessions(storage.Sessions{}, storage.Providers{}, storage.Resources{}, p.Events, rules, a.now)
	p.Seats = workspace.NewSeats(storage.Seats{}, p.Events, a.now)
	p.Mails = workspace.NewMails(storage.Mails{}, p.Events, a.now, a.URL())
	p.Tasks = workspace.NewTasks(storage.Tasks{}, p.Queue, p.Events, a.now, workspace.TaskConfig{
		QueuedRequests: int64(a.config.QueuedTasks), PublicURL: a.URL(),
	})
	p.Handoffs = workspace.NewHandoffs(workspace.HandoffParts{
		Store: storage.Handoffs{}, Providers: storage.Providers{}, Figures: storage.Figures{}, Resources: storage.Resources{},
		Notices: p.Notices, Queue: p.Tasks, Events: p.Events, Now: a.now,
	}, workspace.HandoffConfig{MaxPending: int64(a.config.PendingHandoffs), PublicURL: a.URL()})
	p.Rounds = workspace.NewRounds(storage.Rounds{}, storage.Spending{}, p.Mails, p.Notices, p.Queue, p.Events, a.now)
	a.every("handoffs that nobody decided", time.Minute, func(ctx context.Context) error {
		return p.Handoffs.Expire(ctx, a.db)
	})
	return nil
}

// runner is who works on the rounds that the queue brings.
func (a *App) runner(p *Parts, gate *tool.Catalogue) (rounds, error) {
	folder, err := a.agentFolder()
	if err != nil {
		return rounds{}, err
	}
	programs := &command.Programs{Allowed: a.config.AgentPrograms, Folder: folder}
	return rounds{agent.NewRunner(agent.Config{
		Units: a.db, Store: p.Rounds, Gate: gate, Condition: programs, Stopping: p.Tasks.Stopping(), Caps: agent.DefaultCaps(), Now: a.now, Log: a.log,
		Providers: &providers{
			work: a.db, configured: p.Providers, programs: programs, own: a.config.ProviderHosts, made: map[string]agent.Provider{},
			client: guard.NewClient(guard.ClientConfig{Timeout: turnTime, MaxBody: turnBytes, AllowHosts: a.config.ProviderHosts}),
		},
	})}, nil
}

// agentFolder is where programs of agents have their working folders: beside the
// database file, or with PostgreSQL among temporary files.
func (a *App) agentFolder() (string, error) {
	if a.config.Database != "" {
		return "", nil
	}
	return filepath.Abs(filepath.Join(a.config.Data, "agents"))
}

// The most that one turn of a model may take: the provider's own limits are less.
const (
	turnTime  = 15 * time.Minute
	turnBytes = 32 << 20
)

// rounds is the runner as the queue knows workers.
type rounds struct{ runner *agent.Runner }

func (r rounds) Work(ctx context.Context, job queue.Job) error {
	err := r.runner.Work(ctx, agentJob(job))
	if later, ok := errors.AsType[*agent.Later](err); ok {
		return &queue.Later{Delay: later.Delay}
	}
	return err
}

func (r rounds) GiveUp(ctx context.Context, job queue.Job, last error) error {
	return r.runner.GiveUp(ctx, agentJob(job), last)
}

func agentJob(job queue.Job) agent.Job {
	return agent.Job{TaskID: job.TaskID, Number: job.Number, Node: job.Node, Complete: job.Complete}
}

// providers finds the providers that workspaces have configured, and keeps those it
// made: they learn what their server takes.
type providers struct {
	work       access.Work
	configured *workspace.Providers
	client     *http.Client
	programs   *command.Programs
	own        []string // hosts of the operator's own model servers

	mu   sync.Mutex
	made map[string]agent.Provider // by workspace, name and version; guarded by mu
}

// mostMade is how many providers are kept.
const mostMade = 1000

// Provider implements agent.Providers.
func (s *providers) Provider(ctx context.Context, workspaceID, name string, approved time.Time) (agent.Provider, error) {
	if name == workspace.RehearsalProvider {
		return rehearsal.Provider{}, nil
	}
	var p workspace.Provider
	var key string
	err := s.work.Read(ctx, func(tx access.Tx) (err error) {
		var ok bool
		if p, key, ok, err = s.configured.Open(ctx, tx, workspaceID, name); err == nil && !ok {
			err = &agent.Fault{Kind: agent.FaultRefused, Text: fmt.Sprintf("The workspace has no provider named %s any more.", name)}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !approved.IsZero() && p.UpdatedAt.After(approved) {
		return nil, &agent.Fault{Kind: agent.FaultRefused,
			Text: fmt.Sprintf("The provider %s was changed after this task was approved. Let it be proposed again.", name)}
	}
	id := fmt.Sprintf("%s %s %d %d", workspaceID, name, p.Version, p.CreatedAt.UnixNano())
	s.mu.Lock()
	defer s.mu.Unlock()
	if made := s.made[id]; made != nil {
		return made, nil
	}
	made, err := s.make(p, key)
	if err != nil {
		return nil, &agent.Fault{Kind: agent.FaultRefused, Text: fmt.Sprintf("The provider %s can't be used: %v.", name, err)}
	}
	if len(s.made) >= mostMade {
		clear(s.made)
	}
	s.made[id] = made
	return made, nil
}

// Local implements agent.Providers: programs run here, and model servers that the
// operator lists are of their own network.
func (s *providers) Local(ctx context.Context, workspaceID, name string) (local bool, err error) {
	if name == workspace.RehearsalProvider {
		return true, nil
	}
	err = s.work.Read(ctx, func(tx access.Tx) error {
		p, ok, err := s.configured.Configured(ctx, tx, workspaceID, name)
		if err != nil || !ok {
			local = false
			return err
		}
		base, err := url.Parse(p.BaseURL)
		local = p.Kind == workspace.ProviderCommand || err == nil && slices.Contains(s.own, base.Host)
		return nil
	})
	return local, err
}

// openAIServer is where OpenAI itself answers.
const openAIServer = "https://api.openai.com/v1"

func (s *providers) make(p workspace.Provider, secret string) (agent.Provider, error) {
	key, err := exchange.NewKey(secret)
	if err != nil {
		return nil, err
	}
	switch p.Kind {
	case workspace.ProviderOpenAI:
		if p.BaseURL == "" {
			p.BaseURL = openAIServer
		}
		return openai.New(openai.Config{BaseURL: p.BaseURL, Key: key, Model: p.Model, Client: s.client})
	case workspace.ProviderAnthropic:
		return anthropic.New(anthropic.Config{BaseURL: p.BaseURL, Key: key, Model: p.Model, Client: s.client})
	case workspace.ProviderCommand:
		return command.New(s.programs, p.Command)
	}
	return nil, fmt.Errorf("its kind %s is unknown", p.Kind)
}
