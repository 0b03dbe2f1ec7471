// Package config owns the settings of the server: one documented field for each,
// which is at once a flag, an environment name and a key of the configuration
// file. It checks them; what they do is the matter of the rooms that package app
// hands them to.
package config
