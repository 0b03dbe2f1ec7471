package probe

// rule is what is known of a finding apart from one server.
type rule struct {
	severity Severity
	title    string
	clause   string
	hosts    []string
	reports  []string
	cure     string
}

// The real hosts, as far as they were seen to fail.
const (
	sdk1      = "TypeScript SDK v1"
	sdk2      = "TypeScript SDK v2"
	goSDK     = "Go SDK"
	claude    = "Claude Code"
	codex     = "Codex"
	mcpRemote = "mcp-remote"
	inspector = "MCP Inspector"
	gemini    = "Gemini CLI"
	claudeAI  = "claude.ai"
	chatGPT   = "ChatGPT"
)

var (
	everyHost     = []string{sdk1, sdk2, goSDK, claude, codex, mcpRemote, inspector}
	allButGo      = []string{sdk1, sdk2, claude, codex, mcpRemote, inspector}
	allButSDK1    = []string{sdk2, goSDK, claude, codex, mcpRemote, inspector}
	strictReaders = []string{sdk1, sdk2, claude, mcpRemote, inspector} // their schemas refuse null and ""
	noPOSTAfter   = []string{sdk1, sdk2, goSDK, codex, claude}         // a 301
)

const (
	streamableHTTP = "MCP 2025-11-25, Streamable HTTP"
	mcpAuth        = "MCP 2025-11-25, Authorization"
)

// rules are all findings of a survey and of a sign-in. A severity follows from what
// real hosts did, not from how a clause is worded; hosts are named only where they
// were seen to fail, or where nobody could do otherwise.
var rules = map[string]rule{
	// The way to the server.
	"unreachable": {Error, "The server does not answer", "RFC 9110 §7.3.3", everyHost, nil,
		"Start the server, and check its name, port and firewall."},
	"tls": {Error, "The TLS connection fails", "RFC 9110 §4.3.4", everyHost, nil,
		"Serve a certificate for this name with its whole chain, from an authority that systems trust, and TLS 1.2 or newer."},
	"private-address": {Error, "A public server points at a private address", "RFC 9728 §7.7", nil, []string{"andrea-magni/MARS#203"},
		"Build every absolute URL from one configured public address."},
	"no-answer": {Error, "No answer comes in time", "RFC 9110 §15.5.9", everyHost, []string{"hauptsacheNet/typo3-mcp-server#110"},
		"Answer at once, with a JSON-RPC error if need be."},
	"endless-answer": {Error, "An answer does not end", "RFC 9112 §6", everyHost, []string{"marianfoo/mcp-sap-docs#75"},
		"Send Content-Length or the last chunk; end the event stream of a request after its answer (" + streamableHTTP + ")."},
	"broken-answer": {Error, "An answer breaks off or is no HTTP", "RFC 9112 §8", everyHost, nil,
		"Find what closes the connection: a crash, or a limit of a proxy."},
	"huge-answer": {Error, "An answer is too large", "MCP 2025-11-25, Pagination", everyHost, nil,
		"Page long lists with nextCursor, and keep metadata small."},
	"slow": {Warning, "Answers are slow", "RFC 9110 §15.5.9", nil, []string{"hauptsacheNet/typo3-mcp-server#110"},
		"Before a token is checked there is nothing to compute: look for cold starts and lookups per request."},
	"unsteady": {Warning, "The same question gets different statuses", "RFC 9110 §15", nil, nil,
		"Check that every instance behind the balancer runs the same version and configuration."},
	"rate-limited": {Warning, "A handful of requests meets a limit", "RFC 6585 §4", []string{claudeAI, chatGPT}, []string{"jagduvi1/Cellarion#785", "laravel/mcp#321"},
		"Hosted assistants share few addresses: limit by client and user, and allow hundreds of requests an hour."},
	"plain-http": {Warning, "The address is plain http", mcpAuth + ", Communication Security", []string{claudeAI, chatGPT}, nil,
		"Serve https; assistants in the cloud connect to nothing else."},
	"server-error": {Error, "The server fails", "RFC 9110 §15.6", nil, []string{"different-ai/openwork#3599"},
		"Read the server's log; answer bad input with a 4xx and JSON."},

	// The endpoint.
	"redirect": {Error, "The address redirects in a way that drops the request", "RFC 9110 §15.4.2", noPOSTAfter, []string{"anthropics/claude-ai-mcp#299"},
		"Serve the address itself; if it must move, answer 307 or 308, and give people the new one."},
	"redirect-kept": {Info, "The address redirects", "RFC 9110 §15.4.8", nil, nil,
		"Give people the address it leads to; every host then saves a request, and metadata fits."},
	"slash-redirect": {Warning, "The address with another slash at its end redirects and drops the request", "RFC 9110 §15.4.2", noPOSTAfter, []string{"anthropics/claude-ai-mcp#299"},
		"Serve both forms alike, or redirect with 307 or 308."},
	"html-answer": {Error, "HTML came where JSON was asked for", streamableHTTP, everyHost, []string{"mayflower/contextmine#2"},
		"Route the path to the MCP server before any catch-all of a web app, and past login pages."},
	"not-json": {Error, "The answer is not JSON", streamableHTTP, everyHost, nil,
		"Answer a POST with one JSON-RPC message as application/json, or as an event stream."},
	"not-jsonrpc": {Error, "The answer is not that of JSON-RPC", "JSON-RPC 2.0 §5", everyHost, nil,
		"Answer with jsonrpc 2.0, the id of the request, and either result or error."},
	"initialize-failed": {Error, "initialize is refused", "MCP 2025-11-25, Lifecycle", everyHost, nil,
		"Answer initialize, or 401 with a challenge."},
	"initialize-incomplete": {Error, "The answer to initialize lacks members", "MCP 2025-11-25, Lifecycle", everyHost, nil,
		"Send protocolVersion (one that exists), capabilities and serverInfo with name and version."},
	"initialize-missing": {Warning, "Only hosts of 2026-07-28 are served", "MCP 2025-11-25, Lifecycle", []string{sdk1, codex, mcpRemote, gemini}, nil,
		"Answer initialize as well, as long as hosts of 2025 are in use."},
	"discover-hangs": {Warning, "server/discover gets no answer", "MCP 2026-07-28, server/discover", []string{claude}, []string{"hauptsacheNet/typo3-mcp-server#110"},
		"Answer it, or refuse it at once with a JSON-RPC error; after 202 or silence a host waits 5 s before initialize."},
	"discover-incomplete": {Warning, "The answer to server/discover lacks members", "MCP 2026-07-28, server/discover", nil, nil,
		"Send supportedVersions and capabilities."},
	"list-failed": {Error, "tools/list is refused", "MCP 2025-11-25, Tools", everyHost, nil,
		"Answer tools/list, or 401 with a challenge."},
	"no-tools": {Info, "The server lists no tools", "MCP 2025-11-25, Tools", nil, nil,
		"List what can be called; hosts show nothing else."},
	"list-endless": {Warning, "The pages of tools/list do not end", "MCP 2025-11-25, Pagination", nil, nil,
		"Leave nextCursor out on the last page."},
	"tool-twice": {Error, "Two tools have one name", "MCP 2025-11-25, Tools", nil, nil,
		"Give each tool a name of its own."},
	"tool-schema": {Error, "A tool has no name, or a schema that is not of an object", "MCP 2025-11-25, Tools", nil, nil,
		`Send inputSchema with "type": "object", also for a tool without arguments.`},
	"tool-hints": {Info, "Tools do not say what they do to the world", "MCP 2025-11-25, Tool annotations", nil, nil,
		"Set readOnlyHint, destructiveHint, idempotentHint and openWorldHint; without them a host assumes the worst and asks each time."},
	"accept-refused": {Warning, "An Accept header of real hosts is refused", "RFC 9110 §12.5.1", []string{claudeAI, gemini}, []string{"anthropics/claude-ai-mcp#217", "anthropics/claude-code#45368"},
		"Look for the token first, and take any Accept: JSON only, event stream only, */* and none."},
	"origin-unchecked": {Warning, "A foreign Origin is served", streamableHTTP + ", Security Warning", nil, nil,
		"Answer 403 to an Origin that is not configured, or any web page reaches this local server by DNS rebinding."},
	"host-unchecked": {Warning, "A foreign Host is served", streamableHTTP + ", Security Warning", nil, []string{"modelcontextprotocol/go-sdk#857"},
		"Serve only the names that are configured, or any web page reaches this local server by DNS rebinding."},
	"sessions": {Info, "The server keeps sessions", streamableHTTP + ", Session Management", nil, []string{"PrefectHQ/fastmcp#3073", "modelcontextprotocol/python-sdk#3556"},
		"Give no Mcp-Session-Id if nothing is kept in it; hosts do not all recover when a restart forgets it."},
	"get-no-stream": {Warning, "GET answers 200 with something else than an event stream", streamableHTTP + ", Listening for Messages", nil, []string{"mayflower/contextmine#2"},
		"Answer 405 to GET if there is no stream to listen to."},
	"preflight-refused": {Info, "A browser's preflight is refused", "Fetch, CORS-preflight fetch", []string{inspector + " (its page)"}, []string{"open-metadata/OpenMetadata#30673", "getsentry/sentry-mcp#999"},
		"Answer OPTIONS with 204 and the CORS headers before looking for a token."},

	// The challenge.
	"status-403": {Error, "403 instead of 401 without a token", "RFC 6750 §3.1", []string{sdk1, sdk2, goSDK, mcpRemote, inspector}, nil,
		"Answer 401 with WWW-Authenticate when no token was sent; 403 says that one was not enough."},
	"challenge-missing": {Warning, "The 401 has no Bearer challenge", "RFC 6750 §3", nil, []string{"aks129/HealthClawGuardrails#290"},
		`Send WWW-Authenticate: Bearer resource_metadata="…", scope="…" on every 401.`},
	"challenge-bare": {Warning, "The challenge names no resource metadata", "RFC 9728 §5.1", []string{claudeAI, chatGPT}, []string{"aks129/HealthClawGuardrails#290"},
		"Add resource_metadata with the absolute address of the metadata."},
	"challenge-relative": {Warning, "The challenge names no absolute address", "RFC 9728 §5.1", nil, nil,
		"Write the whole https address in resource_metadata; hosts ignore others and guess."},
	"challenge-dead": {Warning, "The resource metadata that the challenge names is not there", "RFC 9728 §3.2", nil, []string{"vincentmakes/turbo-ea#761"},
		"Serve the document, as JSON, through the public address and its proxy."},
	"head-no-challenge": {Warning, "HEAD gets no 401", "RFC 9110 §9.3.2", []string{gemini}, nil,
		"Answer HEAD as GET: a host begins its sign-in with it."},
	"get-no-challenge": {Info, "GET gets no 401, though POST does", "RFC 6750 §3", nil, nil,
		"Answer 401 with the challenge to every method, before 405; some hosts ask by GET first."},
	"call-without-token": {Error, "A call works without a token although the tool asks for one", mcpAuth + ", Access Token Usage", nil, nil,
		"Check the token before the tool runs."},
	"open-beside-oauth": {Warning, "Anyone may call, yet the origin has OAuth metadata", mcpAuth, []string{claudeAI}, []string{"anthropics/claude-ai-mcp#925"},
		"Hosts that find the metadata sign in for nothing: move the open endpoint to an origin of its own."},

	// Metadata of the resource.
	"resource-metadata-missing": {Warning, "There is no resource metadata", "RFC 9728 §3.1", nil, []string{"akutishevsky/nutrition-mcp#51", "aks129/HealthClawGuardrails#290"},
		"Serve /.well-known/oauth-protected-resource with the endpoint's path after it; without it hosts send no resource and no scope."},
	"resource-mismatch": {Error, "The resource metadata is for another address", "RFC 9728 §3.3", allButGo, []string{"openai/codex#37387", "activepieces/activepieces#13143", "Mnexa-AI/e2a#635"},
		"Set resource to exactly the address that people type: scheme, host and path, without a slash at the end or a query."},
	"resource-is-origin": {Warning, "The resource metadata lacks the path", "RFC 9728 §3.3", []string{claudeAI, chatGPT}, []string{"stormkit-io/stormkit-io#363"},
		"Set resource to the whole address of the endpoint."},
	"authorization-servers-missing": {Warning, "The resource metadata names no authorization server", mcpAuth + ", Authorization Server Location", nil, nil,
		"List the issuer in authorization_servers."},

	// Metadata in general.
	"metadata-html": {Warning, "HTML came where metadata was asked for", "RFC 9728 §3.2", nil, []string{"mayflower/contextmine#2"},
		"Register the well-known tree before the web app; what is not there is 404 with JSON."},
	"metadata-not-json": {Warning, "Metadata is no JSON object", "RFC 8414 §3.2", nil, nil,
		"Answer with one JSON object and status 200, or 404."},
	"metadata-type": {Warning, "Metadata has another content type than JSON", "RFC 8414 §3.2", nil, nil,
		"Send Content-Type: application/json."},
	"metadata-redirects": {Warning, "Metadata redirects", "RFC 9728 §3.2", nil, nil,
		"Serve the document at the address itself."},
	"metadata-null": {Error, "Metadata has a member that is null or empty", "RFC 8414 §3.2", strictReaders, []string{"anthropics/claude-code#13685", "sigbit/mcp-auth-proxy#173"},
		"Leave out members that have no value; these hosts drop the whole document."},
	"metadata-shape": {Warning, "Metadata has a member of the wrong type", "RFC 8414 §2", nil, nil,
		"Send strings, arrays of strings and booleans as the RFC names them."},
	"metadata-cors": {Info, "Browsers may not read the metadata", "Fetch, CORS protocol", []string{inspector + " (its page)"}, []string{"open-metadata/OpenMetadata#30673", "getsentry/sentry-mcp#999"},
		"Send Access-Control-Allow-Origin: * on metadata, token and registration."},
	"twin-missing": {Info, "Server metadata is missing at a place that hosts guess", "RFC 8414 §5", nil, []string{"akutishevsky/nutrition-mcp#51", "anthropics/claude-code#83681"},
		"Serve the same document at the root and with the endpoint's path after it, also as openid-configuration."},
	"twins-differ": {Warning, "The forms of one metadata contradict each other", "RFC 8414 §3.3", nil, []string{"Mnexa-AI/e2a#635"},
		"Serve one document from one function at every form of the address."},

	// Metadata of the authorization server.
	"server-metadata-missing": {Error, "There is no authorization server metadata", "RFC 8414 §3.1", everyHost, []string{"vincentmakes/turbo-ea#761"},
		"Serve /.well-known/oauth-authorization-server at the issuer."},
	"issuer-mismatch": {Error, "The metadata is of another issuer", "RFC 8414 §3.3", allButSDK1, []string{"anomalyco/opencode#50036", "andrea-magni/MARS#203"},
		"Write the issuer byte for byte the same in authorization_servers, in the metadata and in iss."},
	"issuer-slash": {Warning, "authorization_servers names the issuer with a slash more than it has", "RFC 8414 §3.3", []string{goSDK}, []string{"github/copilot-cli#4606"},
		"Write the issuer byte for byte the same in authorization_servers, in the metadata and in iss."},
	"issuer-address": {Error, "The issuer is no address", "RFC 8414 §2", nil, nil,
		"Use an https address without query and fragment."},
	"endpoint-address": {Error, "An endpoint of the server is missing or no usable address", "RFC 8414 §2", nil, []string{"andrea-magni/MARS#203"},
		"Give authorization_endpoint and token_endpoint as absolute addresses, https wherever the resource is, from one configured public address."},
	"pkce-not-advertised": {Error, "PKCE with S256 is not advertised", mcpAuth + ", Authorization Code Protection", []string{goSDK, chatGPT}, []string{"forcedotcom/mcp-hosted#47"},
		`Send "code_challenge_methods_supported": ["S256"] in every form of the metadata.`},
	"registration-missing": {Warning, "A host can neither register nor use an ID of its own", "RFC 7591 §3", []string{claude}, []string{"anthropics/claude-code#38102"},
		"Offer registration_endpoint, or client_id_metadata_document_supported."},
	"auth-none-missing": {Warning, "Public clients are not advertised", "RFC 8414 §2", []string{claudeAI}, []string{"modelcontextprotocol/typescript-sdk#1027"},
		`Add "none" to token_endpoint_auth_methods_supported; left out, it means client_secret_basic.`},
	"iss-not-advertised": {Warning, "The server does not say that it sends iss", "RFC 9207 §3", []string{gemini, goSDK}, []string{"open-metadata/OpenMetadata#30673"},
		"Send iss on every redirect and advertise authorization_response_iss_parameter_supported: one without the other fails, too."},
	"no-scopes": {Info, "No scope is named anywhere", mcpAuth + ", Scope Selection Strategy", nil, nil,
		"Name every scope that a user may need in the challenge and in scopes_supported: few hosts ask again later."},

	// Registration, with --register.
	"register-failed": {Error, "Registration is refused", "RFC 7591 §3.2", everyHost, []string{"contextstream/mcp-server#57", "laravel/mcp#173", "different-ai/openwork#3599"},
		"Take a public client with a redirect to http on loopback, any port; refuse with 400 and JSON."},
	"register-scope": {Error, "Registration is refused for a scope", "RFC 7591 §2", []string{sdk2, claude, codex, mcpRemote, inspector}, []string{"anthropics/claude-code#41610"},
		"Ignore scopes that you do not know, offline_access above all."},
	"register-200": {Info, "Registration answers 200 instead of 201", "RFC 7591 §3.2.1", nil, nil,
		"Answer 201."},
	"register-minimal": {Error, "The answer to a registration lacks what was registered", "RFC 7591 §3.2.1", allButGo, nil,
		"Return client_id and all metadata of the client, redirect_uris above all."},
	"register-null": {Error, "The answer to a registration has a member that is null or empty", "RFC 7591 §3.2.1", strictReaders, []string{"anthropics/claude-code#13685", "sigbit/mcp-auth-proxy#173"},
		"Leave out members that have no value."},
	"register-secret": {Warning, "A client that asked for none got a secret", "RFC 7591 §3.2.1", nil, []string{"KeeperHub/keeperhub#963", "modelcontextprotocol/python-sdk#1842"},
		"Answer none with none, and without a secret."},

	// What the registered client meets.
	"iss-missing": {Error, "The answer of the authorization endpoint lacks the iss that is advertised", "RFC 9207 §2", allButSDK1, []string{"open-metadata/OpenMetadata#30673"},
		"Add iss to every redirect back, errors too, through one function."},
	"iss-wrong": {Error, "The iss is not the issuer", "RFC 9207 §2.4", allButSDK1, []string{"anomalyco/opencode#50036"},
		"Send the issuer byte for byte as in the metadata."},
	"iss-unadvertised": {Warning, "iss is sent, but not advertised", "RFC 9207 §3", []string{goSDK}, nil,
		"Set authorization_response_iss_parameter_supported to true."},
	"state-lost": {Error, "The state does not come back as it was sent", "RFC 6749 §4.1.2", nil, nil,
		"Return state byte for byte with every redirect, errors too."},
	"token-answer": {Error, "The token endpoint does not refuse as OAuth does", "RFC 6749 §5.2", everyHost, []string{"can1357/oh-my-pi#1908", "different-ai/openwork#3599"},
		`Answer 400 with JSON {"error": "invalid_grant"}, whatever is wrong with a code.`},
	"token-unknown-client": {Warning, "The token endpoint does not say that a client is unknown", "RFC 6749 §5.2", []string{claude}, []string{"anthropics/claude-code#84614"},
		"Look at the client first and answer 401 invalid_client, so that hosts register again."},

	// What a sign-in shows.
	"token-null": {Error, "The token answer has a member that is null or empty", "RFC 6749 §5.1", strictReaders, []string{"anthropics/claude-code#13685"},
		"Leave out members that have no value."},
	"token-missing": {Error, "The token answer has no bearer token", "RFC 6749 §5.1", everyHost, nil,
		"Send access_token and token_type Bearer."},
	"expires-in": {Error, "expires_in is no positive whole number", "RFC 6749 §5.1", []string{codex}, []string{"QwenLM/qwen-code#5355"},
		"Send the seconds as a JSON number."},
	"scope-array": {Error, "scope is not one string", "RFC 6749 §3.3", allButGo, nil,
		"Send the scopes in one string with spaces between."},
	"scope-narrow": {Warning, "Less was granted than asked for", mcpAuth + ", Scope Challenge Handling", []string{sdk1, sdk2, goSDK, codex, mcpRemote, inspector}, []string{"anthropics/claude-code#44652"},
		"Grant what the person approved; few hosts ask for more afterwards."},
	"no-refresh": {Info, "There is no refresh token", "RFC 6749 §1.5", nil, []string{"modelcontextprotocol/rust-sdk#921"},
		"Send one with each answer, or people sign in again at each expiry."},
}
