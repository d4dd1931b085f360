/// The width of a text before a browser has chosen its font: that of a wide one, so that the text fits with any.
enum TextMetrics {
    /// The width of a text of a font size; a bold one is a little wider.
    static func width(_ text: String, size: Double, isBold: Bool = false) -> Double {
        let (proportional, fixed) = text.unicodeScalars.reduce((0, 0)) { sum, scalar in
            let share = share(scalar)
            return (sum.0 + share, sum.1 + max(share, fixedShare))
        }
        // A bold font of one width is no wider.
        return max(proportional * (isBold ? 1.1 : 1), fixed) * size
    }

    /// The width of a letter in fonts in which all letters have the same.
    private static let fixedShare = 0.61

    /// A scalar's width as a share of the font size; those of Latin letters are of Verdana, the widest common font.
    private static func share(_ scalar: Unicode.Scalar) -> Double {
        switch scalar {
        case "i", "j", "l", "I", "'", ".", ",", ":", ";", "|", "!": return 0.46
        case "f", "r", "t", "(", ")", "[", "]", "/", "\\", "-", " ", "J": return 0.46
        case "m", "M", "w", "W", "@", "%", "…", "→": return 1.08
        case "a"..."z": return 0.64
        case "0"..."9", "_", "*": return 0.64
        case "A"..."Z": return 0.79
        case "+", "−", "~", "=", "<", ">", "#", "&": return 0.82
        default:
            // Marks that combine with the letter before take no room, but are rare; ideographs take a whole square.
            return scalar.value >= 0x1F000 ? 1.4 : scalar.value >= 0x1100 ? 1.05 : 0.8
        }
    }

    /// A text cut in its middle until it fits into a room.
    static func fitted(_ text: String, into room: Double, size: Double, isBold: Bool = false) -> String {
        guard width(text, size: size, isBold: isBold) > room else { return text }
        var (low, high) = (2, text.count)
        // The longest cut that fits; at least a letter at each end.
        while low < high {
            let middle = (low + high + 1) / 2
            if width(Drawing.shortened(text, to: middle), size: size, isBold: isBold) <= room {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return Drawing.shortened(text, to: max(3, low))
    }
}
