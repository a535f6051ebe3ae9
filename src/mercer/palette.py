"""The colours of all pictures, in print, in notebooks and in the browser."""

# The palette of Okabe and Ito, which the common kinds of colour blindness leave distinct; yellow, too pale for lines
# on white, comes last.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#5C5C5C", "#F0E442")
