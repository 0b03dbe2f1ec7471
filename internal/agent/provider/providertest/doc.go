// Package providertest is the suite that each provider passes, and the scripted
// model servers that it runs against. The servers speak the protocols of OpenAI and
// Anthropic, streamed; a script says what each request is answered with, so that
// tests of the whole house can play a model that does what they need, errs as they
// need, or obeys whatever it reads.
//
// Providers are judged by their contract, agent.Provider, and by what people and
// logs get to see. What is peculiar to one provider is tested in its own package.
package providertest
