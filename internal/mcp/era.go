package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// era is how a client speaks. The versions of one era differ in nothing that
// this endpoint does.
type era uint8

const (
	eraHandshake era = iota // 2025: initialize first, then anything
	eraStateless            // 2026: every request says all about itself
)

// stateless is the version of eraStateless.
const stateless = "2026-07-28"

// versions are the protocol versions served, the newest first.
var versions = []string{stateless, "2025-11-25", "2025-06-18", "2025-03-26"}

func isHandshake(version string) bool { return slices.Contains(versions[1:], version) }

// judgeEra tells the eras apart and holds a message to the rules of its own. In
// 2026-07-28 headers repeat what the message says, so that a gateway need not
// read it, and must agree with it (MCP 2026-07-28, Transports, "Standard MCP
// Request Headers").
func judgeEra(h http.Header, m *message) (era, *fault) {
	header := strings.Join(h["Mcp-Protocol-Version"], ", ")
	meta := &m.params.meta
	inMeta := stringOf(meta.protocolVersion)

	if m.method == "initialize" && meta.protocolVersion == nil { // negotiates in its body alone
		return eraHandshake, nil
	}
	if m.id == nil { // the rules are for requests
		if header != "" && !slices.Contains(versions, header) {
			return eraHandshake, unsupported(header)
		}
		return eraHandshake, nil
	}
	// No header is fine: Gemini never sends one.
	if (header == "" || isHandshake(header)) && (meta.protocolVersion == nil || isHandshake(inMeta)) {
		return eraHandshake, nil
	}
	switch {
	case meta.protocolVersion == nil && header != stateless:
		return eraStateless, unsupported(header)
	case inMeta == "":
		return eraStateless, missing("params._meta[\"" + metaVersion + "\"] must be a protocol version.")
	case header != inMeta:
		return eraStateless, mismatch("The header MCP-Protocol-Version must say what _meta says.")
	case inMeta != stateless:
		return eraStateless, unsupported(inMeta)
	}
	return eraStateless, judgeStateless(h, m)
}

// judgeStateless holds a request of 2026-07-28 to its headers and _meta.
func judgeStateless(h http.Header, m *message) *fault {
	meta := &m.params.meta
	method := h["Mcp-Method"]
	if len(method) != 1 || method[0] != m.method {
		return mismatch("The header Mcp-Method must be there and be the message's method.")
	}
	if meta.clientCapabilities.Kind() != '{' {
		return missing("params._meta[\"" + metaCapabilities + "\"] must be an object.")
	}
	if meta.clientInfo != nil && meta.clientInfo.Kind() != '{' {
		return missing("params._meta[\"" + metaClientInfo + "\"] must be an object.")
	}
	if m.method != "tools/call" || m.params.name.Kind() != '"' {
		return nil
	}
	name := h["Mcp-Name"]
	if len(name) != 1 || decodeHeader(name[0]) != stringOf(m.params.name) {
		return mismatch("The header Mcp-Name must be there and be the tool's name.")
	}
	return nil
}

// decodeHeader undoes the form in which a header carries what it can't carry as
// it is: =?base64?…?= (MCP 2026-07-28, Transports, "Value Encoding"). What is
// not in that form stays.
func decodeHeader(v string) string {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if !ok {
		return v
	}
	inner, ok = strings.CutSuffix(inner, "?=")
	if !ok {
		return v
	}
	decoded, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return v
	}
	return string(decoded)
}

func unsupported(requested string) *fault {
	return &fault{status: http.StatusBadRequest, code: codeVersion, message: "This protocol version is not served.", requested: requested}
}

func missing(message string) *fault {
	return &fault{status: http.StatusBadRequest, code: codeInvalidParams, message: message}
}

func mismatch(message string) *fault {
	return &fault{status: http.StatusBadRequest, code: codeHeaders, message: message}
}

// negotiate picks the version that initialize answers with: the newest that is
// not newer than the asked one, else the newest of its era. Versions are dates
// and compare as text.
func negotiate(asked jsontext.Value) string {
	want := stringOf(asked)
	for _, v := range versions[1:] {
		if v <= want {
			return v
		}
	}
	return versions[1]
}
