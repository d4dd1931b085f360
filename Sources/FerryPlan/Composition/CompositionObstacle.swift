/// Why two steps cannot become one; in words that follow "because".
struct CompositionObstacle: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}
