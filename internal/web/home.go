package web

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Start reads what the start page shows of a person's workspaces.
type Start interface {
	// Places lists the workspaces of the person, by name, each with its
	// connections, the newest first and at most 100.
	Places(ctx context.Context, who access.Principal) ([]Place, error)
}

// Place is a workspace of a person.
type Place struct {
	Name        string
	Role        access.Role
	Connections []workspace.Connection
}

// steps tell how an assistant is connected: the texts host.NAME.1 to .3, and the
// command that belongs to the first, for those that have one.
var steps = []struct{ name, command string }{
	{"claude", ""},
	{"chatgpt", ""},
	{"codex", "codex mcp add osfoundry --url "},
	{"claudecode", "claude mcp add --transport http osfoundry "},
}

type hostSteps struct {
	Name  template.HTML
	Steps []hostStep
}

type hostStep struct {
	Text    template.HTML
	Command string
}

type placeRow struct {
	Name        string
	Role        template.HTML
	Connections []connectionRow
}

type connectionRow struct {
	Name, Host, Approver   string
	Since                  time.Time
	Status, Used, Projects template.HTML
	Tone                   string // of the badge; its words say the same
	Revoke                 string // the page to revoke it on, "" for who may not
}

// front is the web app, or the start page where the app was not built in.
func (s *Site) front(w http.ResponseWriter, r *http.Request) {
	if s.app.built() {
		s.appPage(w, r)
		return
	}
	s.home(w, r)
}

// home is the page without JavaScript of a signed-in person: who is signed in, how an assistant is connected, and
// which ones are.
func (s *Site) home(w http.ResponseWriter, r *http.Request) {
	who, signedIn, err := s.Sessions.Browser(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if !signedIn {
		s.toSignIn(w, r)
		return
	}
	places, err := s.Start.Places(r.Context(), who)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	c, origin := s.texts(r), s.Site.Origin(r)
	page := struct {
		Name, Email, URL, LocalAddress string
		AppMissing                     bool
		Hosts                          []hostSteps
		Workspaces                     []placeRow
	}{AppMissing: !s.app.built(), Name: display(who.UserName), Email: who.UserEmail, URL: origin + oauth.MountSignIn}
	if local(origin) {
		page.LocalAddress = origin
	}
	for _, host := range steps {
		page.Hosts = append(page.Hosts, c.steps(host.name, host.command, page.URL))
	}
	for _, p := range places {
		page.Workspaces = append(page.Workspaces, s.place(c, p, who))
	}
	s.show(w, r, http.StatusOK, "home", page)
}

// toSignIn leads a stranger to the sign-in, or to the setup of a new server.
func (s *Site) toSignIn(w http.ResponseWriter, r *http.Request) {
	fresh, err := s.Accounts.NeedsSetup(r.Context())
	if err != nil || fresh {
		s.toSetup(w, r, err)
		return
	}
	s.seeOther(w, signInPath(ownPath(r.URL.RequestURI()), false))
}

func (c *catalogue) steps(host, command, url string) hostSteps {
	h := hostSteps{Name: c.say("host." + host)}
	for i, n := range []string{"1", "2", "3"} {
		step := hostStep{Text: c.say("host." + host + "." + n)}
		if i == 0 && command != "" {
			step.Command = command + url
		}
		h.Steps = append(h.Steps, step)
	}
	return h
}

// tones colour a status.
var tones = map[workspace.Status]string{workspace.StatusActive: "ok", workspace.StatusPaused: "warn", workspace.StatusRevoked: "bad"}

func (s *Site) place(c *catalogue, p Place, who access.Principal) placeRow {
	row := placeRow{Name: display(p.Name), Role: c.say("role." + string(p.Role))}
	for _, k := range p.Connections {
		line := connectionRow{
			Name: display(k.Name), Host: k.RedirectHost, Approver: display(k.Approver.Name), Since: k.CreatedAt,
			Status: c.say("status." + string(k.Status)), Tone: tones[k.Status],
			Used: c.say("home.unused"), Projects: c.say("home.no_projects"),
		}
		if !k.LastUsedAt.IsZero() {
			line.Used = c.say("home.used", "date", c.date(k.LastUsedAt))
		}
		if n := len(k.Projects); n > 0 {
			line.Projects = c.say("home.projects", "n", n)
		}
		mayRevoke := p.Role == access.RoleOwner || k.Approver.ID == who.UserID
		if mayRevoke && k.Status != workspace.StatusRevoked && s.Owner != nil {
			line.Revoke = revokePath(k.ID)
		}
		row.Connections = append(row.Connections, line)
	}
	return row
}
