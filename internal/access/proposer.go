package access

import "errors"

// CheckProposer decides, when a person accepts a handoff, whether its connection
// could still propose it: everything that held then must hold now (product.md §3
// and §4). The facts are of the connection and of the session named by ref.
func CheckProposer(f Facts, ref Ref) error {
	who := Principal{Credential: CredentialAccessToken, UserID: f.UserID, UserName: f.UserName,
		ConnectionID: f.ConnectionID, ConnectionName: f.ConnectionName, ConnectionSlug: f.ConnectionSlug, WorkspaceID: f.WorkspaceID, Scopes: f.Scopes}
	_, err := checkConnection(f, who, Permission{Scopes: ScopeWrite, Right: RightEdit, Seat: SeatContributor}, ref)
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Code: e.Code, Message: "The assistant could not propose this any more: " + e.Message, Details: e.Details, Cause: e.Cause}
	}
	return err
}
