package import FerryBase

/// Why a step cannot be taken in place.
package enum InPlaceObstacle: Error, Sendable {
    /// A copy can do it; in words that follow "because".
    case needsCopy(String)
    /// Nothing can: the store holds what would lose its meaning.
    case refused(FerryError)
}
