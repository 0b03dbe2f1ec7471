package storage

import (
	"context"
	"database/sql"
	"errors"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Settings keeps facts about this installation under a name: its keys, its setup
// secret.
type Settings struct{}

// Setting is the value under name; ok is false if there is none.
func (Settings) Setting(ctx context.Context, tx access.Tx, name string) (value string, ok bool, err error) {
	value, err = on(tx).GetSetting(ctx, name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return value, err == nil, err
}

// PutSetting keeps value under name, in the place of any other.
func (Settings) PutSetting(ctx context.Context, tx access.Tx, name, value string) error {
	return on(tx).PutSetting(ctx, name, value)
}

// KeepSetting keeps value under name unless there is one, and returns what is
// there then. Processes that start together agree in this way on one key.
func (Settings) KeepSetting(ctx context.Context, tx access.Tx, name, value string) (string, error) {
	q := on(tx)
	if _, err := q.PutSettingOnce(ctx, name, value); err != nil {
		return "", err
	}
	return q.GetSetting(ctx, name)
}

// TakeSetting deletes the setting; ok is true for the one caller who did it.
func (Settings) TakeSetting(ctx context.Context, tx access.Tx, name string) (ok bool, err error) {
	n, err := on(tx).DeleteSetting(ctx, name)
	return n == 1, err
}
