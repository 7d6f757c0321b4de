package names

// Scheme begins every name.
const Scheme = "deeplake://"

// Environ is the environment that names depend on: HOME, XDG_CONFIG_HOME, XDG_DATA_HOME and
// DEEPLAKE_ROOTS. nil stands for the environment of the process.
type Environ map[string]string
