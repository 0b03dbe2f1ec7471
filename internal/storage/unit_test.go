package storage_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// put writes a setting; the value of a setting is what these tests look for.
func put(ctx context.Context, tx access.Tx, name, value string) error {
	return storage.Settings{}.PutSetting(ctx, tx, name, value)
}

// settings reads all settings that a test wrote, name=value, in order.
func settings(t *testing.T, db *storage.DB) string {
	t.Helper()
	var all []string
	err := db.Read(t.Context(), func(tx access.Tx) error {
		all = nil
		c, _ := storage.Raw(tx)
		rows, err := c.QueryContext(t.Context(), `SELECT name, value FROM settings ORDER BY name`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			all = append(all, name+"="+value)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatalf("read settings: %v", err)
	}
	return strings.Join(all, " ")
}

func TestWriteKeepsAllOrNothing(t *testing.T) {
	wrong := errors.New("wrong")
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		tests := []struct {
			name string
			end  func(tx access.Tx) error
			want func(err error) bool
		}{
			{"error", func(access.Tx) error { return wrong }, func(err error) bool { return errors.Is(err, wrong) }},
			{"refusal", func(access.Tx) error { return access.Refuse(access.NotFound, "no") }, isCode(access.NotFound)},
			{"panic", func(access.Tx) error { panic("oh") }, isCode(access.Internal)},
			{"failed statement that f ignores", func(tx access.Tx) error {
				c, _ := storage.Raw(tx)
				_, _ = c.ExecContext(ctx, `INSERT INTO settings (name) VALUES ('incomplete')`)
				return nil
			}, func(err error) bool { return err != nil && access.CodeOf(err) == access.Internal }},
		}
		for _, test := range tests {
			after := false
			err := db.Write(ctx, func(tx access.Tx) error {
				tx.AfterCommit(func() { after = true })
				if err := put(ctx, tx, "a", "1"); err != nil {
					return err
				}
				return test.end(tx)
			})
			if !test.want(err) {
				t.Errorf("%s: got error %v", test.name, err)
			}
			if got := settings(t, db); got != "" {
				t.Errorf("%s: got settings %q, want none", test.name, got)
			}
			if after {
				t.Errorf("%s: AfterCommit ran without a commit", test.name)
			}
		}
		if err := db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, "a", "2") }); err != nil {
			t.Fatalf("write afterwards: %v", err)
		}
		if got := settings(t, db); got != "a=2" {
			t.Errorf("got settings %q, want a=2", got)
		}
	})
}

func isCode(want access.Code) func(error) bool {
	return func(err error) bool { return access.CodeOf(err) == want }
}

func TestNothingRunsAfterAFailedStatement(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		err := db.Write(ctx, func(tx access.Tx) error {
			c, _ := storage.Raw(tx)
			_, _ = c.ExecContext(ctx, `INSERT INTO settings (name) VALUES ('incomplete')`)
			if err := put(ctx, tx, "b", "1"); err == nil {
				t.Error("a statement after a failed one ran")
			}
			var n int64
			if err := c.QueryRowContext(ctx, `SELECT 1`).Scan(&n); err == nil {
				t.Error("a query after a failed statement ran")
			}
			return nil
		})
		if err == nil {
			t.Error("the unit of work with a failed statement was acknowledged")
		}
	})
}

func TestWriteSurvivesAGoroutineThatEnds(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		var group sync.WaitGroup
		group.Go(func() {
			_ = db.Write(ctx, func(tx access.Tx) error {
				_ = put(ctx, tx, "a", "1")
				runtime.Goexit() // as t.Fatal does
				return nil
			})
		})
		group.Wait()
		if err := db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, "b", "1") }); err != nil {
			t.Fatalf("write afterwards: %v", err)
		}
		if got := settings(t, db); got != "b=1" {
			t.Errorf("got settings %q, want b=1", got)
		}
	})
}

func TestAfterCommitRunsOnceTheWriteIsSeen(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		var seen []string
		err := db.Write(ctx, func(tx access.Tx) error {
			tx.AfterCommit(func() { seen = append(seen, "first "+settings(t, db)) })
			tx.AfterCommit(func() { seen = append(seen, "second") })
			return put(ctx, tx, "a", "1")
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(seen), "[first a=1 second]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestReadIsOneSnapshot(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		count := func(tx access.Tx) (n int64) {
			c, _ := storage.Raw(tx)
			if err := c.QueryRowContext(ctx, `SELECT COUNT(*) FROM settings`).Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		err := db.Read(ctx, func(tx access.Tx) error {
			before := count(tx)
			if err := db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, "a", "1") }); err != nil {
				return err
			}
			if after := count(tx); after != before {
				t.Errorf("one snapshot counts %d, then %d", before, after)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestReadsCannotWrite(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		err := db.Read(ctx, func(tx access.Tx) error {
			if tx.Writable() {
				t.Error("a read says that it is writable")
			}
			return put(ctx, tx, "a", "1")
		})
		if err == nil {
			t.Error("a read wrote")
		}
		if got := settings(t, db); got != "" {
			t.Errorf("got settings %q, want none", got)
		}
	})
}

func TestReadOneTakesOneStatement(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		ask := func(tx access.Tx) error {
			_, _, err := storage.Settings{}.Setting(ctx, tx, "a")
			return err
		}
		if err := db.ReadOne(ctx, ask); err != nil {
			t.Errorf("one statement: %v", err)
		}
		err := db.ReadOne(ctx, func(tx access.Tx) error {
			_ = ask(tx)
			_ = ask(tx)
			return nil
		})
		if !errors.Is(err, storage.ErrSingle) {
			t.Errorf("two statements: got error %v, want %v", err, storage.ErrSingle)
		}
	})
}

func TestAUnitOfWorkEnds(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		var kept access.Tx
		keep := func(tx access.Tx) error { kept = tx; return nil }
		for name, run := range map[string]func(context.Context, func(access.Tx) error) error{"Read": db.Read, "ReadOne": db.ReadOne, "Write": db.Write} {
			if err := run(ctx, keep); err != nil {
				t.Fatal(err)
			}
			if err := put(ctx, kept, "a", "1"); err == nil {
				t.Errorf("%s: a statement ran after the end", name)
			}
			if _, _, err := (storage.Settings{}).Setting(ctx, kept, "a"); err == nil {
				t.Errorf("%s: a query ran after the end", name)
			}
		}
	})
}

func TestWritesOfManyAreAllKept(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		const writers, each = 16, 25
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for i := range each {
					err := db.Write(ctx, func(tx access.Tx) error {
						if err := put(ctx, tx, fmt.Sprintf("%02d.%02d", w, i), "x"); err != nil {
							return err
						}
						if i%5 == 4 {
							return errors.New("not this one")
						}
						return nil
					})
					if (err != nil) != (i%5 == 4) {
						t.Errorf("writer %d, write %d: got error %v", w, i, err)
					}
				}
			})
		}
		group.Wait()
		got := strings.Fields(settings(t, db))
		if want := writers * each * 4 / 5; len(got) != want {
			t.Errorf("got %d settings, want %d", len(got), want)
		}
		for _, s := range got {
			if strings.HasSuffix(s, "4=x") || strings.HasSuffix(s, "9=x") {
				t.Errorf("%s was rolled back, and is there", s)
			}
		}
	})
}

func TestCountersLoseNoUpdate(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		const writers, each = 8, 20
		if err := db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, "n", "0") }); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				for range each {
					err := db.Write(ctx, func(tx access.Tx) error {
						c, _ := storage.Raw(tx)
						_, err := c.ExecContext(ctx, `UPDATE settings SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) WHERE name = 'n'`)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if got, want := settings(t, db), fmt.Sprintf("n=%d", writers*each); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
