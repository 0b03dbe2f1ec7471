package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/osfoundry/osfoundry/internal/app"
)

type userCommand struct {
	List     userListCommand     `cmd:"" help:"List the people who have an account."`
	Password userPasswordCommand `cmd:"" help:"Give a person a link by which they choose a new password."`
}

type userListCommand struct{ databaseFlags }

// Run lists people.
func (c *userListCommand) Run(ctx context.Context, s *streams) error {
	return app.Administer(ctx, c.options(), func(a app.Administration) error {
		users, err := a.Users(ctx)
		if err != nil {
			return err
		}
		t := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tE-MAIL\tNAME\tSINCE")
		for _, u := range users {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", u.ID, u.Email, u.Name, u.CreatedAt.Format(time.DateOnly))
		}
		return t.Flush()
	})
}

type userPasswordCommand struct {
	databaseFlags
	Email     string `arg:"" help:"E-mail address of the account."`
	PublicURL string `name:"public-url" default:"http://127.0.0.1:8787" placeholder:"URL" help:"Address that people type."`
}

// Run prints the link. Sessions end when it is used.
func (c *userPasswordCommand) Run(ctx context.Context, s *streams) error {
	return app.Administer(ctx, c.options(), func(a app.Administration) error {
		token, err := a.NewPasswordLink(ctx, c.Email)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s/invitation?token=%s\nThe link works once, for 7 days. All sessions of the person end when it is used.\n", c.PublicURL, token)
		return err
	})
}

type tokenCommand struct {
	databaseFlags
	Email string `arg:"" help:"E-mail address of the account that the token acts for."`
	Name  string `default:"command line" help:"What the person sees it listed as."`
}

// Run prints a personal token.
func (c *tokenCommand) Run(ctx context.Context, s *streams) error {
	return app.Administer(ctx, c.options(), func(a app.Administration) error {
		token, err := a.PersonalToken(ctx, c.Email, c.Name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, token)
		return err
	})
}
