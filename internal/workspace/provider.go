package workspace

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
)

// RehearsalProvider is the provider that every workspace has, and which needs no
// model. No other can have its name.
const RehearsalProvider = "rehearsal"

// ProviderKind says how a provider is asked.
type ProviderKind string

// The kinds of providers.
const (
	ProviderOpenAI    ProviderKind = "openai"    // chat completions, of OpenAI or any server that speaks them
	ProviderAnthropic ProviderKind = "anthropic" // messages
	ProviderCommand   ProviderKind = "command"   // a program on this server
)

// Limits of providers.
const (
	MaxProviderName = 40
	MaxModel        = 100  // characters
	MaxBaseURL      = 500  // bytes
	MaxProviderKey  = 4096 // bytes
	MaxCommandParts = 64
	MaxCommandPart  = 4096 // bytes
	mostProviders   = 100  // of a workspace
)

// Provider is where agents of a workspace get their turns from, by the name that
// they call it. Its key is never part of it.
type Provider struct {
	WorkspaceID string
	Name        string
	Kind        ProviderKind
	BaseURL     string   // "" is the provider's own
	Model       string   // used where the agent names none
	Command     []string // the argument vector of ProviderCommand
	HasKey      bool
	Version     int64 // counts every change, of the key too
	CreatedAt   time.Time
	UpdatedAt   time.Time
	UpdatedBy   string // user
}

// NewProvider is how a provider should be from now on.
type NewProvider struct {
	Name    string
	Kind    ProviderKind
	BaseURL string
	Model   string
	Command []string
	Key     *string // nil keeps the one that is there; "" is none
}

// ProviderStore keeps providers and, sealed, their keys.
type ProviderStore interface {
	Provider(ctx context.Context, tx access.Tx, workspaceID, name string) (p Provider, ok bool, err error)
	// Providers lists the workspace's in the order of their names.
	Providers(ctx context.Context, tx access.Tx, workspaceID string, page Page) ([]Provider, error)
	// SealedKey is the key as PutProvider got it, "" for none.
	SealedKey(ctx context.Context, tx access.Tx, workspaceID, name string) (string, error)
	// PutProvider writes the provider, whatever is there.
	PutProvider(ctx context.Context, tx access.Tx, p Provider, sealed string) error
	DeleteProvider(ctx context.Context, tx access.Tx, workspaceID, name string) (bool, error)
}

// Sealer keeps secrets so that whoever has the database alone cannot read them.
// Bound words belong to a value: it opens with the same ones only.
type Sealer interface {
	Seal(value []byte, expires time.Time, bound ...string) string
	Open(sealed string, now time.Time, bound ...string) ([]byte, error)
}

// Providers is what can be done with providers.
type Providers struct {
	store    ProviderStore
	seal     Sealer
	events   *Events
	programs []string // that a command may run, as absolute paths
	now      func() time.Time
}

// NewProviders makes the service. Programs are the absolute paths of all that a
// command may run on this server; without any, no command can be configured.
func NewProviders(store ProviderStore, seal Sealer, events *Events, programs []string, now func() time.Time) *Providers {
	return &Providers{store, seal, events, programs, now}
}

// List lists the configured providers of the permit's workspace, which only its
// owners see.
func (s *Providers) List(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Provider], error) {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return Listing[Provider]{}, err
	}
	rows, err := s.store.Providers(ctx, tx, p.Workspace(), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(p Provider) string { return p.Name }), err
}

// Get reads one provider of the permit's workspace.
func (s *Providers) Get(ctx context.Context, tx access.Tx, p access.Permit, name string) (Provider, error) {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return Provider{}, err
	}
	got, ok, err := s.store.Provider(ctx, tx, p.Workspace(), name)
	if err == nil && !ok {
		err = unknownProvider()
	}
	return got, err
}

func unknownProvider() error {
	return access.Refuse(access.NotFound, "There is no provider with this name.")
}

// Put configures a provider of the permit's workspace. Where the key is not given,
// the one that is there stays, unless it would go to another address than the one
// that it was given for.
func (s *Providers) Put(ctx context.Context, tx access.Tx, p access.Permit, n NewProvider) (Provider, error) {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return Provider{}, err
	}
	if faults := n.faults(s.programs); faults != nil {
		return Provider{}, refuseFaults(faults...)
	}
	if fault := providerNameFault(n.Name); fault != "" {
		return Provider{}, refuseFaults(faultf("/name", "%s", fault))
	}
	was, known, err := s.store.Provider(ctx, tx, p.Workspace(), n.Name)
	if err != nil {
		return Provider{}, err
	}
	now := s.now()
	made := Provider{
		WorkspaceID: p.Workspace(), Name: n.Name, Kind: n.Kind, BaseURL: n.BaseURL, Model: n.Model, Command: n.Command,
		Version: was.Version + 1, CreatedAt: now, UpdatedAt: now, UpdatedBy: p.Principal().UserID,
	}
	if known {
		made.CreatedAt = was.CreatedAt
	} else if err := s.room(ctx, tx, p.Workspace()); err != nil {
		return Provider{}, err
	}
	sealed, err := s.sealedKey(ctx, tx, was, made, n.Key)
	if err != nil {
		return Provider{}, err
	}
	made.HasKey = sealed != ""
	if err := s.store.PutProvider(ctx, tx, made, sealed); err != nil {
		return Provider{}, err
	}
	return made, s.record(ctx, tx, p, "provider.changed", n.Name)
}

// room refuses more providers than anybody could tell apart.
func (s *Providers) room(ctx context.Context, tx access.Tx, workspaceID string) error {
	rows, err := s.store.Providers(ctx, tx, workspaceID, Page{Limit: mostProviders})
	if err == nil && len(rows) >= mostProviders {
		err = access.Refuse(access.TooLarge, "A workspace has at most %d providers. Delete one first.", mostProviders).With("limit", mostProviders)
	}
	return err
}

// sealedKey is the key that the provider has from now on.
func (s *Providers) sealedKey(ctx context.Context, tx access.Tx, was, made Provider, key *string) (string, error) {
	switch {
	case key != nil && *key == "":
		return "", nil
	case key != nil:
		return s.seal.Seal([]byte(*key), time.Time{}, keyBound(made)...), nil
	case !was.HasKey:
		return "", nil
	case was.Kind != made.Kind || was.BaseURL != made.BaseURL:
		return "", refuseFaults(faultf("/key", "must be given again where kind or base_url change, or be empty"))
	}
	return s.store.SealedKey(ctx, tx, was.WorkspaceID, was.Name)
}

// keyBound is what a key belongs to: it opens for this provider at this address
// only.
func keyBound(p Provider) []string {
	return []string{p.WorkspaceID, p.Name, string(p.Kind), p.BaseURL}
}

// Delete removes a provider of the permit's workspace, with its key. Agents that
// still name it fail with their next turn.
func (s *Providers) Delete(ctx context.Context, tx access.Tx, p access.Permit, name string) error {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return err
	}
	deleted, err := s.store.DeleteProvider(ctx, tx, p.Workspace(), name)
	if err != nil {
		return err
	}
	if !deleted {
		return unknownProvider()
	}
	return s.record(ctx, tx, p, "provider.deleted", name)
}

// Configured is a provider without its key, for whoever needs to know where turns
// are taken; ok is false if the workspace has no such provider.
func (s *Providers) Configured(ctx context.Context, tx access.Tx, workspaceID, name string) (p Provider, ok bool, err error) {
	return s.store.Provider(ctx, tx, workspaceID, name)
}

// Open gives a provider with its key to whoever takes turns of it. No answer to
// anybody may hold the key; ok is false if the workspace has no such provider.
func (s *Providers) Open(ctx context.Context, tx access.Tx, workspaceID, name string) (p Provider, key string, ok bool, err error) {
	p, ok, err = s.store.Provider(ctx, tx, workspaceID, name)
	if err != nil || !ok || !p.HasKey {
		return p, "", ok, err
	}
	sealed, err := s.store.SealedKey(ctx, tx, workspaceID, name)
	if err != nil {
		return Provider{}, "", false, err
	}
	opened, err := s.seal.Open(sealed, s.now(), keyBound(p)...)
	if err != nil {
		return Provider{}, "", false, access.Refuse(access.Internal, "The key of the provider %s can't be read. Give it again.", name).Because(err)
	}
	return p, string(opened), true, nil
}

func (s *Providers) record(ctx context.Context, tx access.Tx, p access.Permit, event, name string) error {
	return s.events.Record(ctx, tx, p.Principal(), Event{
		WorkspaceID: p.Workspace(), Type: event, Kind: access.KindWorkspace, ResourceID: p.Workspace(), Data: map[string]any{"provider": name},
	})
}

var slugForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

func providerNameFault(name string) string {
	switch {
	case name == RehearsalProvider:
		return "is the name of the provider that every workspace has"
	case len(name) > MaxProviderName || !slugForm.MatchString(name):
		return "takes a to z, 0 to 9 and hyphens, at most 40, not a hyphen first"
	}
	return ""
}

func (n NewProvider) faults(programs []string) []Fault {
	var faults []Fault
	if n.Model != "" {
		faults = append(faults, titleFaults("/model", n.Model, MaxModel)...)
	}
	switch n.Kind {
	case ProviderOpenAI, ProviderAnthropic:
		if len(n.Command) > 0 {
			faults = append(faults, faultf("/command", "is for the kind command only"))
		}
		faults = append(faults, baseURLFaults(n.BaseURL)...)
		return append(faults, keyFaults(n.Key)...)
	case ProviderCommand:
		if n.BaseURL != "" {
			faults = append(faults, faultf("/base_url", "is not for the kind command"))
		}
		if n.Key != nil && *n.Key != "" {
			faults = append(faults, faultf("/key", "is not for the kind command: its environment is empty"))
		}
		return append(faults, commandFaults("/command", n.Command, programs)...)
	}
	return append(faults, faultf("/kind", "must be openai, anthropic or command"))
}

// baseURLFaults lets plain http pass: models on the owner's own network speak it.
func baseURLFaults(address string) []Fault {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > MaxBaseURL || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return []Fault{faultf("/base_url", "must be an http or https address of at most %d bytes, such as http://127.0.0.1:11434/v1", MaxBaseURL)}
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(address, "#"):
		return []Fault{faultf("/base_url", "must have no user, query or fragment")}
	}
	return nil
}

// keyFaults keeps a key to what a header can hold (RFC 9110 §5.5).
func keyFaults(key *string) []Fault {
	if key == nil {
		return nil
	}
	if len(*key) > MaxProviderKey || strings.ContainsFunc(*key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return []Fault{faultf("/key", "takes at most %d visible ASCII characters", MaxProviderKey)}
	}
	return nil
}

// commandFaults says what is wrong with an argument vector. Nothing in it passes a
// shell; its program is one of those that this server allows.
func commandFaults(pointer string, command, programs []string) []Fault {
	if len(command) == 0 || len(command) > MaxCommandParts {
		return []Fault{faultf(pointer, "needs a program and at most %d arguments, got %d parts", MaxCommandParts-1, len(command))}
	}
	var faults []Fault
	if !slices.Contains(programs, command[0]) {
		faults = append(faults, faultf(pointer+"/0", "is not a program that this server allows; whoever runs the server lists them, by absolute path"))
	}
	for i, part := range command {
		at := pointerTo(pointer, i)
		switch {
		case !utf8.ValidString(part) || strings.ContainsRune(part, 0):
			faults = append(faults, faultf(at, "must be valid UTF-8 without the character U+0000"))
		case len(part) > MaxCommandPart:
			faults = append(faults, faultf(at, "takes at most %d bytes, got %d", MaxCommandPart, len(part)))
		}
	}
	return faults
}
