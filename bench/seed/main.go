// Command seed gives the product the world of the side-by-side benchmark: the
// same people, projects, notes and connections that the reference servers have.
//
// It reads the SQLite file that the benchmark's own seed made, and mints a token
// for each of its connections in the product's form. Their hashes go into the
// product and, so that all servers take the same requests, into that file and a
// new list of pairs (token TAB note ID).
//
//	seed -world b100k.db -pairs b100k.pairs -out-pairs product.pairs [-data DIR] [-database URL]
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
)

func main() {
	worldFile := flag.String("world", "", "SQLite file made by the benchmark's seed; its token hashes are replaced")
	pairs := flag.String("pairs", "", "pairs of the benchmark's seed")
	outPairs := flag.String("out-pairs", "", "where to write the pairs with the product's tokens")
	data := flag.String("data", "", "data folder of the product (SQLite)")
	database := flag.String("database", "", "database URL of the product (PostgreSQL)")
	flag.Parse()
	if err := run(context.Background(), *worldFile, *pairs, *outPairs, *data, *database); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, worldFile, pairs, outPairs, data, database string) error {
	world, err := sql.Open("sqlite", worldFile)
	if err != nil {
		return err
	}
	defer world.Close()
	tokens, err := mint(ctx, world, pairs)
	if err != nil {
		return fmt.Errorf("mint tokens: %w", err)
	}
	var targets []storage.Options
	if data != "" {
		targets = append(targets, storage.Options{Path: filepath.Join(data, "osfoundry.db")})
	}
	if database != "" {
		targets = append(targets, storage.Options{DatabaseURL: database})
	}
	for _, o := range targets {
		if err := seedProduct(ctx, o, world, tokens); err != nil {
			return err
		}
	}
	if err := translatePairs(pairs, outPairs, tokens); err != nil {
		return fmt.Errorf("write the pairs: %w", err)
	}
	return nil
}

func seedProduct(ctx context.Context, o storage.Options, world *sql.DB, tokens map[string]minted) error {
	product, err := openProduct(ctx, o)
	if err != nil {
		return fmt.Errorf("make the product's schema: %w", err)
	}
	defer product.Close()
	if err := fill(ctx, world, product, tokens); err != nil {
		return fmt.Errorf("fill the product: %w", err)
	}
	_, err = product.ExecContext(ctx, "ANALYZE")
	return err
}

// minted is the product's token of one connection of the world.
type minted struct {
	connection int64
	token      string
	hash       access.TokenHash
}

// mint makes a token for each connection that the pairs use and puts its hash in
// place of the one in the world. The key of the result is the old token.
func mint(ctx context.Context, world *sql.DB, pairs string) (map[string]minted, error) {
	tx, err := world.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back
	out := map[string]minted{}
	err = eachPair(pairs, func(old, _ string) error {
		if _, done := out[old]; done {
			return nil
		}
		was := sha256.Sum256([]byte(old))
		var m minted
		err := tx.QueryRowContext(ctx, "SELECT id FROM connections WHERE token_hash = $1", was[:]).Scan(&m.connection)
		if err != nil {
			return fmt.Errorf("the world does not know a token of the pairs: %w", err)
		}
		m.token, m.hash = access.MintToken(access.TokenAccess)
		is := sha256.Sum256([]byte(m.token))
		_, err = tx.ExecContext(ctx, "UPDATE connections SET token_hash = $1 WHERE id = $2", is[:], m.connection)
		out[old] = m
		return err
	})
	return out, errors.Join(err, tx.Commit())
}

func eachPair(file string, do func(token, note string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		token, note, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			return fmt.Errorf("a line of %s has no tab", file)
		}
		if err := do(token, note); err != nil {
			return err
		}
	}
	return lines.Err()
}

func translatePairs(from, to string, tokens map[string]minted) error {
	var b strings.Builder
	err := eachPair(from, func(token, note string) error {
		fmt.Fprintf(&b, "%s\t%s\n", tokens[token].token, note)
		return nil
	})
	return errors.Join(err, os.WriteFile(to, []byte(b.String()), 0o600))
}

// openProduct makes the schema with the product's own migrations and hands out a
// plain connection, because a world is too large for the product's front door.
func openProduct(ctx context.Context, o storage.Options) (*sql.DB, error) {
	db, err := storage.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	if o.DatabaseURL != "" {
		return sql.Open("pgx", o.DatabaseURL)
	}
	// A seed that is cut short is made again: it need not be durable.
	return sql.Open("sqlite", "file:"+o.Path+"?_pragma=synchronous(OFF)&_pragma=foreign_keys(OFF)&_pragma=cache_size(-256000)")
}

// farAway is an expiry that no benchmark reaches, in Unix milliseconds.
var farAway = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// fill copies the world into the product's tables. A project of the world has
// members: it becomes a private one, added to the connections of its members.
func fill(ctx context.Context, world, product *sql.DB, tokens map[string]minted) error {
	tx, err := product.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back
	now := time.Now().UnixMilli()
	for _, s := range steps {
		if err := s.copy(ctx, world, tx, now); err != nil {
			return fmt.Errorf("%s: %w", s.into, err)
		}
	}
	put, err := tx.PrepareContext(ctx, `INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at)
		VALUES ($1, $2, $3, '', $4, $5, 0)`)
	if err != nil {
		return err
	}
	for _, m := range tokens {
		if _, err := put.ExecContext(ctx, string(m.hash), fmt.Sprint("c", m.connection), access.AllScopes.String(), now, farAway); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Titles are long, so that an answer of read_note has the 1 kB that the load
// generator wants of an answer.

// step copies the rows of one query on the world into one statement of the
// product; $1 of the statement is the time, which not every table has.
type step struct{ into, from, insert string }

var steps = []step{
	{"users", `SELECT 'u' || id, email FROM users`,
		`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ($2, $3, $3, '', 0, $1)`},
	{"workspaces", `SELECT 'w' || id, name FROM workspaces`,
		`INSERT INTO workspaces (id, name, created_at) VALUES ($2, $3, $1)`},
	{"memberships", `SELECT DISTINCT 'w' || workspace_id, 'u' || user_id FROM connections`,
		`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ($2, $3, 'editor', $1)`},
	{"projects", `SELECT 'p' || p.id, 'w' || p.workspace_id, p.name, 'u' || p.workspace_id FROM projects p`,
		`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at) VALUES ($2, $3, $4, 1, $5, 1, 0, $1, $1)`},
	{"project_members", `SELECT 'p' || project_id, 'u' || user_id FROM memberships`,
		`INSERT INTO project_members (project_id, user_id, created_at) VALUES ($2, $3, $1)`},
	{"connections", `SELECT 'c' || id, 'w' || workspace_id, 'u' || user_id, client_id FROM connections`,
		`INSERT INTO connections (id, workspace_id, approver_id, client_id, name, slug, client_host, redirect_host, status, scopes,
			consent_address, family_revoked_at, family_reason, created_at, last_used_at)
		VALUES ($2, $3, $4, $5, $2, $2, '', '', 'active', 'osfoundry:read osfoundry:write osfoundry:run', '', 0, '', $1, 0)`},
	{"connection_projects", `SELECT 'c' || c.id, 'p' || m.project_id, 'u' || c.user_id FROM connections c JOIN memberships m ON m.user_id = c.user_id`,
		`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ($2, $3, $4, $1)`},
	{"notes", `SELECT n.ext_id, 'w' || p.workspace_id, 'p' || n.project_id, SUBSTR(n.title || '. ' || n.body, 1, 200), n.restricted + 0, 'u' || p.workspace_id
		FROM notes n JOIN projects p ON p.id = n.project_id`,
		`INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
		VALUES ($2, $3, $4, $5, 1, 0, CAST($6 AS BIGINT), 0, $1, $7, $1, $7, '')`},
	{"note_tabs", `SELECT 't' || n.ext_id, n.ext_id, LENGTH(n.body), n.body FROM notes n`,
		`INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via) VALUES ($2, $3, 'Text', 0, 1, $4, $5, $1, '', '')`},
	{"resource_acl", `SELECT n.ext_id, 'u' || a.user_id FROM acl a JOIN notes n ON n.id = a.note_id`,
		`INSERT INTO resource_acl (resource_id, user_id, access) SELECT $2, $3, 'edit' WHERE CAST($1 AS BIGINT) > 0`},
}

func (s step) copy(ctx context.Context, world *sql.DB, tx *sql.Tx, now int64) error {
	put, err := tx.PrepareContext(ctx, s.insert)
	if err != nil {
		return err
	}
	rows, err := world.QueryContext(ctx, s.from)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]any, len(columns)+1)
	into := make([]any, len(columns))
	values[0] = now
	for i := range into {
		into[i] = &values[i+1]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if _, err := put.ExecContext(ctx, values...); err != nil {
			return err
		}
	}
	return rows.Err()
}
