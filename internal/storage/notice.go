package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Notices implements workspace.NoticeStore.
type Notices struct{}

var _ workspace.NoticeStore = Notices{}

// InsertNotice is workspace.NoticeStore.InsertNotice.
func (Notices) InsertNotice(ctx context.Context, tx access.Tx, n workspace.Notice) error {
	about, err := json.Marshal(n.About)
	if err != nil {
		return fmt.Errorf("write notice: %w", err)
	}
	return on(tx).InsertNotice(ctx, gen.InsertNoticeParams{
		ID: n.ID, UserID: n.UserID, WorkspaceID: n.WorkspaceID, Type: string(n.Type), Data: string(about), CreatedAt: msOf(n.CreatedAt),
	})
}

// NoticesOf is workspace.NoticeStore.NoticesOf.
func (Notices) NoticesOf(ctx context.Context, tx access.Tx, userID string, unread bool, page workspace.Page) ([]workspace.Notice, error) {
	rows, err := on(tx).NoticesOf(ctx, gen.NoticesOfParams{UserID: userID, Before: page.After, Unread: flagOf(unread), Most: int32(page.Limit)})
	if err != nil {
		return nil, fmt.Errorf("list notices: %w", err)
	}
	notices := make([]workspace.Notice, len(rows))
	for i, r := range rows {
		notices[i] = workspace.Notice{
			ID: r.ID, WorkspaceID: r.WorkspaceID, UserID: r.UserID, Type: workspace.NoticeType(r.Type), CreatedAt: timeOf(r.CreatedAt), ReadAt: timeOf(r.ReadAt),
		}
		if err := json.Unmarshal([]byte(r.Data), &notices[i].About); err != nil {
			return nil, fmt.Errorf("read notice %s: %w", r.ID, err)
		}
	}
	return notices, nil
}

// CountUnread is workspace.NoticeStore.CountUnread.
func (Notices) CountUnread(ctx context.Context, tx access.Tx, userID string) (int64, error) {
	return on(tx).CountUnreadNotices(ctx, userID)
}

// MarkRead is workspace.NoticeStore.MarkRead.
func (Notices) MarkRead(ctx context.Context, tx access.Tx, userID string, ids []string, now time.Time) error {
	if ids == nil {
		return on(tx).MarkNoticesRead(ctx, msOf(now), userID)
	}
	for _, id := range ids {
		if err := on(tx).MarkNoticeRead(ctx, msOf(now), userID, id); err != nil {
			return err
		}
	}
	return nil
}
