// Package tool owns the catalogue of what an outside assistant can do, and the
// one gate through which every call of it goes.
//
// catalogue.go holds the gate, Catalogue.Call, as numbered steps. tool.go says
// what a tool is and how it is declared. Each family of tools has one file,
// which names the arguments, scopes, hints and rights of its members beside
// what they do. Adding a tool touches that one file and a golden file.
//
// What a tool does to data is package workspace's; how an answer looks on the
// wire is package mcp's.
package tool
