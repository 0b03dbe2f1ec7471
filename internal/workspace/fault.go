package workspace

import (
	"fmt"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Fault is one reason why what a caller sent can't be taken. Pointer names the
// place in the arguments or the body (RFC 6901).
type Fault struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

func faultf(pointer, format string, args ...any) Fault {
	return Fault{pointer, fmt.Sprintf(format, args...)}
}

// refuseFaults is the refusal with all faults, or nil if there are none.
func refuseFaults(faults ...Fault) *access.Error {
	if len(faults) == 0 {
		return nil
	}
	return access.Refuse(access.InvalidArguments, "%s: %s.", faults[0].Pointer, faults[0].Message).With("errors", faults)
}
