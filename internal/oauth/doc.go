// Package oauth owns the authorization server: how an outside assistant becomes
// known, how a person lets it into one workspace, and how it gets and renews its
// tokens. It serves public clients only, with PKCE, opaque tokens and an issuer
// that comes from configuration (OAuth 2.1 draft, RFC 9700).
//
// One file per endpoint or RFC. The flow, in the order it happens:
//
//	metadata.go   the client learns where everything is       RFC 8414, RFC 9728
//	register.go   it registers itself                         RFC 7591
//	clientid.go   or names a document that says who it is     Client ID Metadata Document
//	authorize.go  it sends a browser with a request, which    RFC 6749 §4.1.1, RFC 7636, RFC 8707
//	              is stored and bound to that browser
//	consent.go    a signed-in person decides; each yes makes
//	decide.go     one connection and one code                 RFC 9207 (iss)
//	token.go      the client redeems the code                 RFC 6749 §4.1.3
//	refresh.go    and renews its tokens, one after the other  RFC 9700 §4.14
//	revoke.go     or gives them back                          RFC 7009
//
// A connection is the family of the tokens that follow from one approval. Every
// state change is one conditional UPDATE whose row count decides who was first.
//
// Package storage implements Store, package web draws Pages, and whoever keeps
// browser sessions is People. What a connection may do is package access's.
package oauth
