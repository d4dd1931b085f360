package import Ferry

extension Configuration {
    /// The default settings, for tests of something else than losses.
    package static func allowingLosses() -> Configuration { Configuration { $0.losses = .allow } }

    /// The same settings with changes.
    package static func allowingLosses(_ change: (inout Configuration) throws -> Void) rethrows -> Configuration {
        var configuration = allowingLosses()
        try change(&configuration)
        return configuration
    }
}
