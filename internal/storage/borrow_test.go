package storage_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

const insertSetting = `INSERT INTO settings (name, value) VALUES ($1, $2)`

func TestALentTransactionIsTheUnitOfWork(t *testing.T) {
	wrong := errors.New("wrong")
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		lend := func(tx access.Tx, f func(*sql.Tx) error) error { return db.WithSQLTx(tx, f) }
		insert := func(name string) func(*sql.Tx) error {
			return func(tx *sql.Tx) error {
				_, err := tx.Exec(insertSetting, name, "1")
				return err
			}
		}
		tests := []struct {
			name string
			f    func(tx access.Tx) error
			fail bool
		}{
			{"kept", func(tx access.Tx) error { return lend(tx, insert("kept")) }, false},
			{"rolled back", func(tx access.Tx) error { return errors.Join(lend(tx, insert("a")), wrong) }, true},
			{"own statements around", func(tx access.Tx) error {
				return errors.Join(put(ctx, tx, "before", "1"), lend(tx, insert("within")), put(ctx, tx, "within", "2"))
			}, false},
			{"error of f", func(tx access.Tx) error {
				return lend(tx, func(tx *sql.Tx) error { return errors.Join(insert("a")(tx), wrong) })
			}, true},
			{"failed statement that is ignored", func(tx access.Tx) error {
				_ = lend(tx, func(tx *sql.Tx) error { return insert("kept")(tx) })
				return nil
			}, true},
			{"commit and rollback of f", func(tx access.Tx) error {
				return errors.Join(lend(tx, func(tx *sql.Tx) error {
					return errors.Join(insert("a")(tx), tx.Rollback(), wrong)
				}), wrong)
			}, true},
			{"panic", func(tx access.Tx) error {
				return lend(tx, func(tx *sql.Tx) error {
					_ = insert("a")(tx)
					panic("oh")
				})
			}, true},
		}
		for _, test := range tests {
			if err := db.Write(ctx, test.f); (err != nil) != test.fail {
				t.Errorf("%s: got error %v", test.name, err)
			}
		}
		if got, want := settings(t, db), "before=1 kept=1 within=2"; got != want {
			t.Errorf("got settings %q, want %q", got, want)
		}
	})
}

func TestReadsLendNothing(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		err := db.Read(t.Context(), func(tx access.Tx) error {
			return db.WithSQLTx(tx, func(*sql.Tx) error { return nil })
		})
		if err == nil {
			t.Error("a unit of work that reads lent a transaction")
		}
	})
}

func TestALentTransactionEndsWithItsFunction(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		var kept *sql.Tx
		err := db.Write(t.Context(), func(tx access.Tx) error {
			return db.WithSQLTx(tx, func(tx *sql.Tx) error {
				kept = tx
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kept.Exec(insertSetting, "late", "1"); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("a statement after the end: got error %v, want %v", err, sql.ErrTxDone)
		}
	})
}

// BenchmarkLend compares a statement in a lent transaction with one in the unit of
// work itself.
func BenchmarkLend(b *testing.B) {
	each := func(b *testing.B, f func(db *storage.DB, tx access.Tx) error) {
		for name, open := range map[string]func(testing.TB) *storage.DB{"sqlite": storagetest.SQLite, "postgres": storagetest.Postgres} {
			b.Run(name, func(b *testing.B) {
				db := open(b)
				err := db.Write(b.Context(), func(tx access.Tx) error {
					for b.Loop() {
						if err := f(db, tx); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
	const query = `UPDATE settings SET value = $1 WHERE name = 'none'`
	b.Run("own", func(b *testing.B) {
		each(b, func(_ *storage.DB, tx access.Tx) error {
			c, _ := storage.Raw(tx)
			_, err := c.ExecContext(b.Context(), query, "x")
			return err
		})
	})
	b.Run("lent", func(b *testing.B) {
		each(b, func(db *storage.DB, tx access.Tx) error {
			return db.WithSQLTx(tx, func(tx *sql.Tx) error {
				_, err := tx.Exec(query, "x")
				return err
			})
		})
	})
}
