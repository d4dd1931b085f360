extension Duration {
    /// The longest one that a text or a file may ask for: what cannot be told apart from forever.
    private static let longestSeconds = 1e15

    /// A time that was computed; what is no number counts as none.
    package static func clamped(seconds: Double) -> Duration {
        guard !seconds.isNaN else { return .zero }
        return .seconds(min(max(seconds, -longestSeconds), longestSeconds))
    }

    package static func clamped(nanoseconds: UInt64) -> Duration { .nanoseconds(Int64(clamping: nanoseconds)) }

    /// The number of seconds that is nearest.
    ///
    /// Not a sum of seconds and fraction, which would round twice: a time of whole nanoseconds keeps nine places.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        guard self >= .zero else { return Double(seconds) + Double(attoseconds) / 1e18 }
        let fraction = String(attoseconds)
        let text = "\(seconds)." + String(repeating: "0", count: 18 - fraction.count) + fraction
        return Double(text) ?? Double(seconds)
    }
}
