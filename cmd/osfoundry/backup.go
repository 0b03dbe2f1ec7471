package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/osfoundry/osfoundry/internal/storage"
)

// databaseFlags say which database a command works on.
type databaseFlags struct {
	Data     string `default:"./data" placeholder:"DIR" help:"Folder of the SQLite database, which is DIR/osfoundry.db. Not used with --database."`
	Database string `placeholder:"URL" help:"PostgreSQL database instead of SQLite."`
}

func (f databaseFlags) options() storage.Options {
	if f.Database != "" {
		return storage.Options{DatabaseURL: f.Database}
	}
	return storage.Options{Path: filepath.Join(f.Data, "osfoundry.db")}
}

type backupCommand struct {
	databaseFlags
	File string `arg:"" help:"File to write. It must not exist."`
}

// Run writes the backup.
func (c *backupCommand) Run(ctx context.Context, s *streams) error {
	if err := storage.Backup(ctx, c.options(), c.File); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	_, err := fmt.Fprintf(s.out, "Wrote %s. It holds everything, secrets too: keep it as safe as the database.\n", c.File)
	return err
}

type restoreCommand struct {
	databaseFlags
	File string `arg:"" help:"Backup to read."`
}

// Run restores into an empty database.
func (c *restoreCommand) Run(ctx context.Context, s *streams) error {
	if err := storage.Restore(ctx, c.File, c.options()); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	_, err := fmt.Fprintln(s.out, "Restored. Tokens and sessions of the copy are void: people sign in again, assistants connect again.")
	return err
}

type migrateCommand struct{ databaseFlags }

// Run brings the schema up to date.
func (c *migrateCommand) Run(ctx context.Context, s *streams) error {
	from, to, err := storage.Migrate(ctx, c.options())
	if err != nil {
		return err
	}
	if from == to {
		_, err = fmt.Fprintf(s.out, "The schema is up to date: version %d.\n", to)
		return err
	}
	_, err = fmt.Fprintf(s.out, "Migrated the schema from version %d to %d.\n", from, to)
	return err
}
